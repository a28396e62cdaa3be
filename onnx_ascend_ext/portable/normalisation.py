"""Gradients of layer and batch normalisation, and of Dropout."""

from __future__ import annotations

from onnx import TensorProto

from onnx_ascend_ext.portable.body import Body

_DEFAULT_RATIO = 0.5


def layer_normalization_grad(body: Body) -> None:
    """`LayerNormalizationGrad`."""
    rows = _Rows(body, "X", "mean")
    deviation = body.op("Sub", rows.flat("X"), rows.statistic("mean"))
    inverse = rows.statistic("inv_std_dev")
    normalised = body.op("Mul", deviation, inverse, out="normalised")
    _layer_gradient(body, rows, normalised, inverse, "X", centred=True)


def invertible_layer_normalization_grad(body: Body) -> None:
    """`InvertibleLayerNormalizationGrad`: the normalised input is (Y - bias) / scale."""
    rows = _Rows(body, "Y", "inv_std_var")
    shifted = body.op("Sub", rows.flat("Y"), rows.parameter("bias"))
    normalised = body.op("Div", shifted, rows.parameter("scale"), out="normalised")
    _layer_gradient(body, rows, normalised, rows.statistic("inv_std_var"), "Y", centred=True)


def simplified_layer_normalization_grad(body: Body) -> None:
    """`SimplifiedLayerNormalizationGrad`: nothing is subtracted before the input is scaled."""
    rows = _Rows(body, "X", "inv_std_var")
    inverse = rows.statistic("inv_std_var")
    normalised = body.op("Mul", rows.flat("X"), inverse, out="normalised")
    _layer_gradient(body, rows, normalised, inverse, "X", centred=False)


class _Rows:
    """Tensors as rows of what is normalised together.

    Everything is computed in the element type of the statistics, or in that of the input where that is
    float64.

    Attributes:
        typed: the formal whose element type that is.
    """

    def __init__(self, body: Body, source: str, statistic: str) -> None:
        self._body = body
        self._axis = body.node.integer("axis")
        self.typed = source if body.dtype(source) == TensorProto.DOUBLE else statistic

    def flat(self, formal: str) -> str:
        """[rows, elements] of a tensor of the input's shape."""
        return self._body.op("Flatten", self._wide(formal), axis=self._axis, out=f"rows_of_{formal}")

    def statistic(self, formal: str) -> str:
        """[rows, 1] of a number for each row."""
        wide = self._wide(formal)
        return self._body.op("Reshape", wide, self._body.constant([-1, 1]), out=f"column_of_{formal}")

    def parameter(self, formal: str) -> str:
        """[1, elements] of a parameter."""
        return self._body.op(
            "Reshape", self._wide(formal), self._body.constant([1, -1]), out=f"row_of_{formal}"
        )

    def _wide(self, formal: str) -> str:
        return self._body.converted(formal, self.typed)


def _layer_gradient(
    body: Body, rows: _Rows, normalised: str, inverse: str, source: str, *, centred: bool
) -> None:
    gradient = rows.flat("Y_grad")
    scaled = body.op("Mul", gradient, rows.parameter("scale"))
    projection = body.with_axes("ReduceMean", body.op("Mul", scaled, normalised), [1], keepdims=1)
    rest = body.op("Sub", scaled, body.op("Mul", normalised, projection))
    if centred:
        rest = body.op("Sub", rest, body.with_axes("ReduceMean", scaled, [1], keepdims=1))
    result = body.op("Reshape", body.op("Mul", rest, inverse), body.shape(source))
    body.result("X_grad", body.converted(result, source, rows.typed))
    for formal, summed in (("scale_grad", body.op("Mul", gradient, normalised)), ("bias_grad", gradient)):
        if body.has(formal):
            total = body.with_axes("ReduceSum", summed, [0], keepdims=0)
            shaped = body.op("Reshape", total, body.shape("scale"))
            body.result(formal, body.converted(shaped, "scale", rows.typed))


def batch_normalization_grad(body: Body) -> None:
    """`BatchNormalizationGrad`: statistics of each channel, axis 1, over everything else."""
    merged = body.constant([0, 0, -1])
    column = body.constant([1, -1, 1])

    def planes(formal: str) -> str:
        return body.op("Reshape", body.converted(formal, "mean"), merged, out=f"planes_of_{formal}")

    def channels(formal: str) -> str:
        return body.op("Reshape", body.converted(formal, "mean"), column, out=f"channels_of_{formal}")

    gradient, inverse = planes("dY"), channels("variance")
    normalised = body.op("Mul", body.op("Sub", planes("X"), channels("mean")), inverse, out="normalised")
    product = body.op("Mul", gradient, normalised)
    means = [body.with_axes("ReduceMean", value, [0, 2], keepdims=1) for value in (gradient, product)]
    rest = body.op("Sub", body.op("Sub", gradient, means[0]), body.op("Mul", normalised, means[1]))
    factor = body.op("Mul", channels("scale"), inverse)
    result = body.op("Reshape", body.op("Mul", rest, factor), body.shape("X"))
    body.result("X_grad", body.converted(result, "X", "mean"))
    for formal, summed in (("scale_grad", product), ("bias_grad", gradient)):
        total = body.with_axes("ReduceSum", summed, [0, 2], keepdims=0)
        body.result(formal, body.converted(total, "scale", "mean"))


def batch_norm_internal(body: Body) -> None:
    """`BatchNormInternal`, the forward pass."""
    merged, column = body.constant([0, 0, -1]), body.constant([1, -1, 1])
    planes = body.op("Reshape", body.converted("X", "input_mean"), merged, out="planes")
    epsilon = body.constant_like(body.node.number("epsilon"), "input_mean")
    mean, variance = (body.op("Reshape", value, column) for value in ("input_mean", "input_var"))
    if body.node.integer("training_mode"):
        mean = body.with_axes("ReduceMean", planes, [0, 2], keepdims=1)
        deviation = body.op("Sub", planes, mean)
        variance = body.with_axes("ReduceMean", body.op("Mul", deviation, deviation), [0, 2], keepdims=1)
    one = body.constant_like(1, "input_mean")
    inverse = body.op("Div", one, body.op("Sqrt", body.op("Add", variance, epsilon)), out="inverse")
    scale, bias = (
        body.op("Reshape", body.converted(value, "input_mean"), column) for value in ("scale", "B")
    )
    normalised = body.op("Mul", body.op("Sub", planes, mean), body.op("Mul", inverse, scale))
    result = body.op("Reshape", body.op("Add", normalised, bias), body.shape("X"))
    body.result("Y", body.converted(result, "X", "input_mean"))
    momentum = body.node.number("momentum")
    for formal, old, new in (("running_mean", "input_mean", mean), ("running_var", "input_var", variance)):
        kept = body.op("Mul", old, body.constant_like(momentum, "input_mean"))
        added = body.op("Mul", _vector(body, new), body.constant_like(1 - momentum, "input_mean"))
        body.result(formal, body.op("Add", kept, added))
    body.result("saved_mean", _vector(body, mean))
    body.result("saved_inv_std", _vector(body, inverse))


def _vector(body: Body, channels: str) -> str:
    return body.op("Reshape", channels, body.constant([-1]), out="vector")


def dropout_grad(body: Body) -> None:
    """`DropoutGrad`."""
    body.result("dx", undropped(body, "dy"))


def undropped(body: Body, gradient: str) -> str:
    """The gradient before Dropout: scaled up where the mask is true, else 0."""
    if body.has("ratio"):
        one = body.constant_like(1, "dy")
        kept = body.op("Sub", one, body.converted(body.scalar("ratio"), "dy", "ratio"))
    else:
        kept = body.constant_like(1 - _DEFAULT_RATIO, "dy")
    scaled = body.op("Div", gradient, kept)
    return body.op("Where", "mask", scaled, body.constant_like(0, "dy"))
