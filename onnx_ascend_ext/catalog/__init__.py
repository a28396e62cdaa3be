"""The kernels and the portable definitions that this package knows, read from the files in `converters/`."""

from onnx_ascend_ext.catalog.kernel import (
    DOMAIN,
    DOMAIN_VERSION,
    AclnnBinding,
    ForeignAttribute,
    ForeignNode,
    Kernel,
)
from onnx_ascend_ext.catalog.portable import (
    PORTABLE_DOMAIN,
    PORTABLE_DOMAIN_VERSION,
    AttributeValue,
    PortableCatalog,
    PortableOperator,
    UndefinedOperator,
)
from onnx_ascend_ext.catalog.portable_reader import load_portable, load_portable_from
from onnx_ascend_ext.catalog.reader import load, load_from

__all__ = [
    "DOMAIN",
    "DOMAIN_VERSION",
    "PORTABLE_DOMAIN",
    "PORTABLE_DOMAIN_VERSION",
    "AclnnBinding",
    "AttributeValue",
    "ForeignAttribute",
    "ForeignNode",
    "Kernel",
    "PortableCatalog",
    "PortableOperator",
    "UndefinedOperator",
    "load",
    "load_from",
    "load_portable",
    "load_portable_from",
]
