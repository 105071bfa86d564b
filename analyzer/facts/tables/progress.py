"""Facts about what a run learned: progress, the level of a guess, training against held-out data, exact values, the rate."""

from __future__ import annotations

from analyzer.facts.tables.hows import LOG_NORM, MODEL_CONFIG, USER_CONFIG

_LOSS = "log the training loss every few steps"
_BOTH = "log loss and accuracy on training and on held-out data after every epoch"

TABLE = f"""
signal.progress.points | int | | finite training losses |
signal.progress.first | float | | level of the first training losses |
signal.progress.last | float | | level of the last training losses |
signal.progress.fall_share | float | | share of the first training loss that was lost by the end |
signal.progress.learned | bool | | the loss or a task metric got better by more than its scatter | {_BOTH}
signal.progress.kept | bool | | the run ends near its best | {_BOTH}
signal.progress.hardly | bool | | a model that began at random lost less than a tenth of its loss, and no score rose clearly | {_LOSS}
signal.progress.little_yet | bool | | less than a tenth of the loss was lost, in a log that spans too little training to blame the run for it | {_LOSS}
signal.progress.still | bool | | the loss stays within 2 % of its first level: from four points on | {_LOSS}
signal.progress.begins_late | bool | | the log begins after step 1000, so it shows no beginning |
signal.progress.above_start | bool | | the loss ends above its first level, beyond its scatter |
signal.progress.peak_over_first | float | | highest level of the loss over its first points |
signal.progress.exploded | bool | | the loss rose to three times its start or more and never came well below it again |
signal.progress.first_over_last | float | | first loss over the last level |
signal.progress.rose_and_stays | bool | | the loss ends at half again of its best level or more, beyond its scatter |
signal.progress.last_over_best | float | | last level over the best one |
signal.progress.jump_at_end | bool | | the last loss is ten times the level of all before it |
signal.progress.broke | bool | | it ended above its start, exploded, rose and stays, or jumped at the end |
signal.progress.every_point_better | bool | | from four points on: every training loss is below the one before |
signal.progress.score_points | int | | points of a score that rose by fifteen points or more |
signal.progress.crosses_zero | bool | | the loss began above zero and ends below |
signal.progress.sudden_step | bool | | the loss stands, falls at once from one point to the next, and stands again |
signal.progress.began_anew | bool | | the loss leapt back to its first level, once, and fell again row by row |
signal.progress.swings | bool | | the loss of the second half changes by half of its level from one point to the next |
signal.stretch.seen | bool | | the loss left its course upwards for a stretch of rows | {_LOSS}
signal.stretch.count | int | | such stretches |
signal.stretch.step | int | steps | step of the first row of the first |
signal.stretch.ratio | float | | highest level within a stretch over the best level before it |
signal.stretch.rows | int | | rows, or fortieths of the run, of the first stretch |
signal.stretch.returned | bool | | the loss came back from every stretch | {_LOSS}
signal.stretch.recovering | bool | | the loss has not come back from the last stretch, but falls and has lost three tenths of the rise | {_LOSS}
signal.stretch.above_first | float | | highest level of the first stretch over the first loss |
signal.stretch.to_a_guess | bool | | the loss leapt to ln(C) and has stood there since | {_LOSS}
signal.stretch.held_out_rose | bool | | held-out loss rose by a quarter within the stretch | {_BOTH}
signal.stretch.gradient_rose | bool | | the gradient norm tripled within the stretch | {LOG_NORM}
signal.chance.classes | int | | classes to choose from, as configured or as the first loss and accuracy tell | {MODEL_CONFIG}
signal.chance.loss_over_uniform | float | | last level of the training loss over ln(C) | {MODEL_CONFIG}
signal.chance.first_over_uniform | float | | first training loss over ln(C) | {MODEL_CONFIG}
signal.chance.training | bool | | the training loss ends at ln(C), and no accuracy says otherwise | {MODEL_CONFIG}
signal.chance.worse_than_guess | bool | | the training loss ends above ln(C), and no accuracy says otherwise | {MODEL_CONFIG}
signal.chance.training_learned | bool | | the training loss or accuracy is well away from that of a guess | {MODEL_CONFIG}
signal.chance.held_out | bool | | answers on held-out data are no better than a guess | {_BOTH}
signal.chance.held_out_over_uniform | float | | last held-out loss over ln(C) | {_BOTH}
signal.chance.held_out_never_better | bool | | no evaluation was better than a guess | {_BOTH}
signal.chance.second_softmax | bool | | loss and accuracy of each row are those of a softmax taken twice | {_BOTH}
signal.chance.exploded_at_once | bool | | the first losses, of training or held-out data, are twenty times the last, and the answers at the end hardly better than a guess |
signal.chance.far_beyond | bool | | hardly an answer is right and the loss ends above 14, what a guess among a million classes costs |
signal.chance.out_of_scale | bool | | answers are right, yet the loss begins above 28 or ends above 14: logits are out of scale |
signal.chance.poor | bool | | the run ends at a guess, with next to nothing gained, or with much of it lost |
signal.gap.chasm | bool | | the last evaluation costs twenty times what training does |
signal.gap.opened | bool | | held-out and training loss began alike and end three times apart | {_BOTH}
signal.gap.stands_open | bool | | in a log that begins in the middle, held-out loss is half again the training loss in every row, and rises | {_BOTH}
signal.gap.held_out_gained | float | | share of its first value that the held-out loss lost at best | {_BOTH}
signal.gap.never_generalised | bool | | the training loss fell by three tenths or more and the held-out loss not at all | {_BOTH}
signal.gap.first_ratio | float | | held-out over training loss at the first evaluation | {_BOTH}
signal.gap.last_ratio | float | | held-out over training loss at the last evaluation | {_BOTH}
signal.gap.from_start | bool | | held-out loss is half again the training loss at the first two evaluations already | {_BOTH}
signal.gap.training_harder | bool | | the training loss stays three tenths above the held-out loss to the end | {_BOTH}
signal.gap.outweighed | bool | | training losses five times the held-out ones throughout hardly fall, while held-out data gain a fifth | {_BOTH}
signal.gap.answers_other_labels | bool | | held-out answers are right half as often as a guess, or never, while training is learned | {_BOTH}
signal.gap.score_first | float | | training accuracy minus held-out accuracy at the first evaluation | {_BOTH}
signal.gap.score_last | float | | training accuracy minus held-out accuracy at the last evaluations | {_BOTH}
signal.gap.score_from_start | bool | | a quarter of all answers lies between training and held-out accuracy at the first evaluation | {_BOTH}
signal.gap.score_training_harder | bool | | training accuracy ends twelve points below held-out accuracy | {_BOTH}
signal.exact.all_finite | bool | | no series holds NaN or Inf, but for scores that are undefined by design |
signal.exact.nonfinite_name | str | | the series with most points that are not finite |
signal.exact.nonfinite_count | int | | its points that are not finite |
signal.exact.nonfinite_points | int | | its points |
signal.exact.nonfinite_training | bool | | it is a loss or norm of training, and not finite to the end |
signal.exact.nonfinite_beside_loss | bool | | it is no norm, so that the forward pass gave it, whatever the loss prints |
signal.exact.loss_zero | bool | | nine of ten training losses are exactly 0 |
signal.exact.gradient_zero | bool | | nine of ten gradient norms are exactly 0 | {LOG_NORM}
signal.exact.accuracy_zero | bool | | every training accuracy is exactly 0 |
signal.exact.eval_accuracy_zero | bool | | every accuracy on held-out data is exactly 0 |
signal.exact.layers_zero_share | float | share | layers whose own gradient norm is exactly 0 at every point | log the gradient norm of every layer for a few steps
signal.exact.layer_zero_name | str | | one of those layers |
signal.exact.loss_zero_at_end | bool | | the last two training losses are exactly 0 |
signal.score.all_right | bool | | every score ends at 1, on held-out data too | {_BOTH}
signal.exact.zero_but_wrong | bool | | the loss is exactly 0 in rows in which less than half of the answers are right |
signal.exact.leap_overcome | bool | | a series of any name leaps a million times above its level and comes back |
signal.exact.explodes | bool | | a series of any name ends a million times above its level, or breaks after it was there |
signal.exact.explodes_name | str | | that series |
signal.metric.negative_part | str | | a part of the loss that cannot be negative and is in every row |
signal.schedule.vanished | bool | | a learning rate is above 0 and below 1e-14 |
signal.schedule.vanished_rate | float | | that rate |
signal.exact.loss_frozen | bool | | every training loss is the same number in four digits or more |
signal.exact.held_out_frozen | bool | | every held-out loss is the same number |
signal.score.zero | bool | | a score is exactly 0 in every row | {_BOTH}
signal.score.zero_name | str | | one such score |
signal.score.zero_rows | int | | its rows |
signal.score.all_zero | bool | | every score that was logged is exactly 0 in every row | {_BOTH}
signal.score.rare_never_found | bool | | F1, overlap, precision or recall stay near 0 while most answers are right or the loss falls, or the mean overlap is that of one class named everywhere | log precision and recall of every class
signal.score.rare_name | str | | such a score |
signal.score.hardly_found | bool | | every Dice or IoU ends below 0.15 and was never above 0.25 | log the overlap of every class
signal.score.frozen | bool | | a score is the same number in all digits in every row, and not a high one | {_BOTH}
signal.score.frozen_name | str | | that score |
signal.score.frozen_value | float | | its one value |
signal.score.frozen_rows | int | | its rows |
signal.score.frozen_while_loss_falls | bool | | a loss falls while that score stands | {_BOTH}
signal.score.error_beyond_all | bool | | an error rate ends above 100 %, so more is put out than there is to say |
signal.score.error_rises | bool | | that error rate ends above its first value |
signal.score.gap | float | | training score minus the same score on held-out data at the end, where it is largest | {_BOTH}
signal.score.gap_name | str | | the score in which they part most |
signal.score.parted | bool | | training and held-out data end a fifth of the scale apart | {_BOTH}
signal.score.held_out_stands | bool | | the training score gains 15 points and the held-out score less than 3 | {_BOTH}
signal.score.forgotten | bool | | one score loses four tenths of its best for good while another gains fifteen points | log the score of every task or part
signal.score.forgotten_name | str | | the score that is lost |
signal.score.lost | bool | | a score of the whole task ends below its start and three tenths below its best | {_BOTH}
signal.score.lost_name | str | | that score |
signal.score.perfect_at_once | bool | | a log that begins with the training holds a score that is perfect in nearly all rows and was so in the first | {_BOTH}
signal.score.perfect_held_out | bool | | such a score is one on held-out data |
signal.score.perfect_name | str | | that score |
signal.score.ranks_like_a_guess | bool | | an area under the ROC curve stays within 0.05 of one half while the loss falls | {_BOTH}
signal.gan.judge_loss | float | | level of the discriminator's loss at the end |
signal.gan.maker_loss | float | | level of the generator's loss at the end |
signal.gan.won_by_loss | bool | | the discriminator's loss ends near 0 while the generator's stays high |
signal.gan.never_fooled | bool | | the discriminator tells real from made samples nearly always | log D(x) and D(G(z)), or the accuracy of the discriminator
signal.gan.discriminator_won | bool | | either of the two | log the losses of both players, D(x) and D(G(z))
signal.certain.saturated | bool | | every wrong answer costs as much as the loss can, so the outputs are exactly 0 or 1 | log loss and accuracy of the same rows
signal.certain.cost | float | | what a wrong answer costs there |
signal.collapse.latent_unused | bool | | the divergence of a latent code from its prior ends near 0 | log reconstruction and divergence apart
signal.collapse.latent_nats | float | nats | that divergence at the end |
signal.collapse.embeddings_agree | bool | | the spread of embeddings over a batch ends near 0, or a negative cosine stands at -1 | log the standard deviation of the embeddings over the batch
signal.collapse.preference_undecided | bool | | a preference loss ends at ln 2, with an accuracy of one half or no margin | log the accuracy and the margin of the rewards
signal.collapse.perplexity_one | bool | | the perplexity ends near 1 | log the perplexity on held-out text
signal.collapse.perplexity_last | float | | that perplexity |
config.rate.value | float | | learning rate, the largest that was logged or the one asked for | {USER_CONFIG}
config.rate.over_usual | float | | learning rate over the upper end of what is usual for the optimizer and the kind of training | {USER_CONFIG}
config.rate.under_usual | float | | lower end of what is usual over the learning rate | {USER_CONFIG}
config.rate.usual_low | float | | lower end of the usual range |
config.rate.usual_high | float | | upper end of the usual range |
"""
