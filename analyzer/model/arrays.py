"""The arrays that columns are made of, by what they hold; at run time all are arrays, for NumPy's types take long to import."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Rows = Integers  # places in other arrays
    Mask = NDArray[np.bool_]
    Bytes = NDArray[np.uint8]
    ShortIntegers = NDArray[np.int32]
    Texts = NDArray[np.str_]
    AnyArray = NDArray[Any]
else:
    Values = Integers = Rows = Mask = Bytes = ShortIntegers = Texts = AnyArray = np.ndarray
