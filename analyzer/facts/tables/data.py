"""Facts about data: its order, its composition, and the weights that the run began with."""

from __future__ import annotations

from analyzer.facts.tables.hows import MODEL_CONFIG

_BATCH = "print shape, minimum, maximum, mean and the decoded text of one batch as the model receives it"

TABLE = f"""
signal.order.periodic | bool | | the loss repeats one pattern again and again, much wider than its noise | log the loss every few steps over several epochs
signal.order.period_steps | int | steps | length of that pattern |
signal.order.amplitude | float | | height of that pattern as a share of the loss |
signal.order.period_is_epoch | bool | | the pattern has the length of an epoch | log the epoch beside the loss
signal.order.follows_learning_rate | bool | | the learning rate rises again and again as well | log the learning rate
signal.data.unknown_percent | float | percent | tokens that the vocabulary does not hold | keep the log of the preprocessing
signal.data.padding_share | float | share | tokens that are padding | {_BATCH}
signal.data.inputs_unscaled | bool | | the inputs of the model span a hundred or more | {_BATCH}
signal.data.majority_only | bool | | the evaluation accuracy is the same number every time although the loss moves | print recall for each class
signal.data.f1_far_below_accuracy | bool | | a macro F1 below 0.6 of the accuracy: some classes are hardly ever right | print recall for each class
signal.data.nothing_found | bool | | detection scores on held-out data are 0 at every evaluation, ten epochs or evaluations after the start | log the mean average precision of every epoch
signal.data.zero_part | str | | part of the loss that is exactly 0 in every row while the total is not | {_BATCH}
signal.data.part_without_value | bool | | from three rows on: a part of the loss is exactly 0 in every row while the total is not | {_BATCH}
signal.data.part_without_value_name | str | | that part |
signal.data.nonfinite_part | str | | part of a loss that is NaN or infinite in most rows, in a log without the total | {_BATCH}
signal.data.lone_bad_part | str | | the one part of a loss that is never finite, beside parts that always are | log every part of the loss
signal.data.sound_scores | bool | | with such a part, the model still finds objects in held-out data | run an evaluation
signal.split.points | int | | evaluations beside which a training loss is known | evaluate more often
signal.split.eval_below_share | float | share | evaluations whose loss is below 0.9 of the training loss | evaluate more often
signal.split.ratio | float | | evaluation loss over training loss of the same time, median | evaluate more often
signal.split.ratio_last | float | | the same at the end | evaluate more often
signal.split.within_first_epoch | bool | | the run ended before any sample was seen twice | log the epoch
signal.start.backbone_missing | bool | | weights of inner layers were not in the checkpoint and began at random | keep the report that the loader prints
signal.start.missing_example | str | | one of those weights |
signal.start.first_step | int | step | step of the first logged loss |
signal.start.class_loss_first | float | | largest classification loss of the first step, before any update of note | log the parts of the loss
signal.start.loss_over_uniform | float | | first loss over ln(vocabulary), the loss of a guess | {MODEL_CONFIG}
"""
