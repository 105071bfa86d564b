"""Facts of the anomaly classifier: what the curves look like, as trained on labelled runs."""

from __future__ import annotations

_CURVES = "log loss, gradient norm, learning rate and evaluation loss at 20 points or more"

TABLE = f"""
classifier.answered | bool | | the curves can be told to look like one class of runs and no other | {_CURVES}
classifier.members | str | | classes that cannot be excluded, the likeliest first; none if the curves are unlike all |
classifier.outside_share | float | share | share of the features outside the range of the runs that the classifier was trained on |
classifier.shape | str | | the one class that the curves look like | {_CURVES}
classifier.leans_to | str | | the likeliest class where others cannot be excluded, for a run like those of training | {_CURVES}
classifier.leaning | float | probability | calibrated probability of that class | {_CURVES}
classifier.probability | float | probability | calibrated probability of that class | {_CURVES}
classifier.bits | float | bits | evidence for the causes of that class, at most 3 bits; 0 for healthy |
classifier.because | str | | the features that speak for the class, in words |
likeness.sound | float | probability | labelled runs with such numbers were sound | {_CURVES}
likeness.first | str | | the likeliest cause of labelled public runs with such numbers | {_CURVES}
likeness.first_probability | float | probability | its probability if the run is faulty |
likeness.first_bits | float | bits | evidence for that cause, at most 3 bits |
likeness.second | str | | the second |
likeness.second_probability | float | probability | its probability if the run is faulty |
likeness.second_bits | float | bits | evidence for that cause, at most 3 bits |
likeness.third | str | | the third |
likeness.third_probability | float | probability | its probability if the run is faulty |
likeness.third_bits | float | bits | evidence for that cause, at most 3 bits |
"""
