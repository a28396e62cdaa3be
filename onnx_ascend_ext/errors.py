"""The errors that this package raises for a user to read.

Each message is one line that says what is wrong, where, and what to do.
"""


class AscendExtError(Exception):
    """Base of every error that this package raises on purpose."""


class AscendExtWarning(Warning):
    """Base of every warning of this package."""


class ModelError(AscendExtError):
    """A model file or `onnx.ModelProto` cannot be read, converted or written."""


class CatalogError(AscendExtError):
    """A kernel file in `converters/` is not valid."""


class BackendError(AscendExtError):
    """ONNX Runtime, the execution provider or the ACL backend cannot be used here."""


class AclError(AscendExtError):
    """A call of ACL or of an aclnn kernel failed.

    Attributes:
        function: name of the C function that failed, such as `aclnnSigmoidBackwardGetWorkspaceSize`.
        code: its return code, such as 161002.
        message: the whole message, with the code's symbol, its cause and `aclGetRecentErrMsg`.
    """

    def __init__(self, function: str, code: int, message: str) -> None:
        super().__init__(message)
        self.function = function
        self.code = code
        self.message = message
