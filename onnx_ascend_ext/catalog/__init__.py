"""The kernels that this package knows, read from the files in `converters/`."""

from onnx_ascend_ext.catalog.kernel import (
    DOMAIN,
    DOMAIN_VERSION,
    AclnnBinding,
    ForeignAttribute,
    ForeignNode,
    Kernel,
)
from onnx_ascend_ext.catalog.reader import load, load_from

__all__ = [
    "DOMAIN",
    "DOMAIN_VERSION",
    "AclnnBinding",
    "ForeignAttribute",
    "ForeignNode",
    "Kernel",
    "load",
    "load_from",
]
