"""What functions take, for checkers of types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, Union

if TYPE_CHECKING:
    from ._tenure import DType, Tensor, Variable

    TensorLike = Union[Tensor, Variable, float, Sequence[Any], Any]
    ShapeLike = Union[int, Sequence[int]]
    DTypeLike = Union[DType, str, type]
