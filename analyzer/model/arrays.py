"""The arrays that columns are made of, by what they hold."""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Integers = NDArray[np.int64]
Rows = Integers
"""Places in other arrays."""

Mask = NDArray[np.bool_]
