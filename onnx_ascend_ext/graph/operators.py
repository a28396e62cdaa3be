"""What the operators of the default domain do to element types and shapes."""

from __future__ import annotations

BROADCASTING_OPSET = 7
"""The first version whose arithmetic broadcasts without an attribute, as it does today."""

ELEMENTWISE = frozenset(
    {
        "Abs",
        "Acos",
        "Acosh",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "BitwiseNot",
        "Cast",
        "CastLike",
        "Ceil",
        "Celu",
        "Clip",
        "Cos",
        "Cosh",
        "CumSum",
        "Dropout",
        "Elu",
        "Erf",
        "Exp",
        "Floor",
        "Gelu",
        "HardSigmoid",
        "HardSwish",
        "Hardmax",
        "Identity",
        "LayerNormalization",
        "LeakyRelu",
        "Log",
        "LogSoftmax",
        "LpNormalization",
        "Mish",
        "Neg",
        "Not",
        "PRelu",
        "RMSNormalization",
        "Reciprocal",
        "Relu",
        "Round",
        "Selu",
        "Shrink",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Softmax",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Swish",
        "Tan",
        "Tanh",
        "ThresholdedRelu",
        "Trilu",
    }
)
"""Their first output has the shape of the first input."""

BROADCAST = frozenset(
    {
        "Add",
        "Div",
        "Max",
        "Mean",
        "Min",
        "Mod",
        "Mul",
        "Pow",
        "Sub",
        "Sum",
    }
)
"""Their output has the shape that their inputs broadcast to."""

SAME_RANK = frozenset(
    {
        "AveragePool",
        "BatchNormalization",
        "Concat",
        "Conv",
        "ConvTranspose",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "InstanceNormalization",
        "LRN",
        "MaxPool",
        "Pad",
        "Slice",
        "Split",
        "Tile",
    }
)
"""Their outputs have the rank of the first input."""

REDUCTIONS = frozenset(
    {
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "ReduceSumSquare",
    }
)
"""They drop axes, or keep them with size 1."""

VIEWS = frozenset(
    {
        "Expand",
        "Flatten",
        "Reshape",
        "Squeeze",
        "Transpose",
        "Unsqueeze",
    }
)
"""They only arrange or repeat the elements of the first input."""

SAME_TYPE = (
    (ELEMENTWISE - {"Cast", "CastLike"})
    | BROADCAST
    | SAME_RANK
    | REDUCTIONS
    | VIEWS
    | frozenset({"Einsum", "Gather", "GatherElements", "GatherND", "Gemm", "MatMul"})
    | frozenset({"ScatterElements", "ScatterND", "SpaceToDepth"})
)
"""Their first output has the element type of the first input."""
