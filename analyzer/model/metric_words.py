"""The vocabulary of metric names: which words say the phase, the quantity and how values were reduced.

Rows are ``kind | meaning | words``. A name is cut into words at ``/ _ . - :``, at spaces and where its case
changes. A *quantity* is one or more words that may stand in any order; what else a name holds must be a phase, a
reduction or a place where trackers file things, or else the name tells of a part: ``loss_cls``, ``grad_norm/layer3``.
"""

from __future__ import annotations

WORDS = """
phase | train | train, training, trn, tr, fit, learn, learning, learner
phase | eval | val, valid, validation, validate, vali, valida, eval, evaluation, evaluating, test, testing, tst, te, dev, heldout, holdout, cv, validating, va, evl
phase | other | ema, teacher, student, swa, target, best, lowest, previous, prev, last, initial, final, min, max, low, high, std, var, median, worst, old, baseline, reference, ref
reduction | | on, set, mean, avg, ave, average, avarage, averaged, avr, epoch, ep, step, batch, iter, iteration, minibatch, global, local, reduced, running, smooth, smoothed, total, tot, overall, all, sum, summed, current, cur, curr, value, val_, raw, per, the, moving, interval, final_
place | | metrics, metric, scalars, scalar, losses, stats, performance, perf, logs, log, charts, history, main, results, trainer, misc, debug, optim, opt, optimizer, model, net, network, lightning, summary, monitoring, result
unit | | nats, bits, percent, pct, ms, s, sec, secs, seconds
"""
"""Words beside a quantity."""

QUANTITIES = """
loss | loss; losses; losses total; l total; l pix; losses sum; lm loss; cross entropy; crossentropy; cross entropy loss; crossentropy loss; crossentropyloss; c e loss; cross entropy loss with log softmax; weighted category cross entropy; categorical crossentropy; sparse categorical crossentropy; lossvalue; loss value
perplexity | perplexity; ppl; lm loss ppl; word ppl; token ppl; loss ppl
accuracy | accuracy; acc; accu; accs; accuracies; top1; acc1; top 1; acc top1; accuracy top1; acc top 1; accuracy top 1; prec1; prec 1; acc 1; acc1 top; token acc; tokenaccuracy; categorical accuracy; sparse categorical accuracy; binary accuracy; multiclass accuracy; multiclassaccuracy; binaryaccuracy; category accuracy; weighted category accuracy; top1 acc; top1 accuracy; cls acc; classification accuracy; token acc; tokenacc
grad_norm | grad norm; gradient norm; gnorm; gradnorm; gradientnorm; grads norm; gradients norm; norm grad; norm gradient; grad l2 norm; l2 grad norm; grad 2 norm
learning_rate | lr; learning rate; learningrate; base lr; base learning rate; lr rate; lrate; learn rate; l r; lr scheduler; lr sgd; lr adam; lr rmsprop; lr adagrad; lr nadam; lr radam; lr lion; lr lamb
loss_scale | loss scale; loss scaler; lossscale; grad scale; grad scaler; gradscale; amp scale; scaler scale; fp16 scale; fp16 grad scale; dynamic loss scale; amp scaler
reward_mean | reward; rewards; return; returns; episode reward; episode return; episodic return; episodic reward; episodic returns; episodic rewards; episode returns; episode rewards; ep reward; ep return; ep ret; rew; ep rew; score mean episode; episode score; episode scores; cumulative reward; eval reward episode; proxy; proxy reward; proxy score
episode_length_mean | ep len; episode len; episode length; episodic length; eplen; ep length
kl | kl; kl div; kl divergence; kld
approx_kl | approx kl; approxkl
entropy | entropy; policy entropy
entropy_loss | entropy loss; ent loss
policy_loss | policy loss; pg loss; actor loss; policy gradient loss; pi loss; losspi; surrogate loss; p loss policy
value_loss | value loss; vf loss; critic loss; v loss value; baseline loss value; lossv; value function loss
step_time_s | step time; iter time; iteration time; batch time; sec step; secs step; seconds step; sec iter; secs iter; seconds iter; sec it; s step; s iter; s it; s batch; sec batch; seconds batch; ms step; ms batch; ms iter; ms it; s b
data_time_s | data time; data loading time; dataload time; data load time; dataloader time; data wait
tokens_per_second | tokens persec; tok persec; toks persec; token persec; words persec; word persec; wps; tps words; wpsec
samples_per_second | samples persec; sample persec; images persec; image persec; img persec; imgs persec; examples persec; example persec; ins persec; sequences persec; records persec; utts persec; utt persec; frames persec; sents persec; sentences persec
steps_per_second | it persec; its persec; iter persec; iters persec; steps persec; step persec; iterations persec; batches persec; batch persec; updates persec; update persec
"""
"""Quantities and the words that name them; several spellings are parted by semicolons."""

LOSS_LIKE = """
1 | cost; objective; nll; nll loss; ce loss; xent loss; softmax loss; xent; ce; bce; nllloss; negative log likelihood; bpb; bpc; bits per byte; bits per char; logloss; multi class; multiclass; elbo; criterion; neg log likelihood; deviance
2 | unnamed; error; err; mse; mae; rmse; l1; l2; mape; smape; rmsle; huber
"""
"""Words that name what a run minimises although it does not call it loss, the better stand-in first."""

SCORES = """
auc, auroc, roc_auc, f1, fb1, fscore, dcg, precision, prec, recall, iou, miou, map, map50, ap, ap50, ap75, ar, dice, bleu, rouge, rouge1, rouge2, rougel, meteor, cider, wer, cer, ter, per, psnr, ssim, lpips, fid, fid50k, fid10k, kid, pesq, stoi,
mrr, ndcg, r2, pearson, pearsonr, spearman, spearmanr, kappa, mcc, em, top5, acc5, kl, score, winrate, elo, uas, las, eer, hits, pck, mpjpe
"""
"""Measures of how good a model is; each is a word of a name such as ``val_mIoU``."""

CONTEXTS = """
weight, weights, coef, coefficient, coeff, fn, func, function, type, name, lambda, ratio, factor, clip, clipping, threshold, thresh, decay, warmup, warm, interval, every, freq,
frequency, patience, dropout, drop, num, count, n, size, dim, seed, momentum, beta, betas, eps, epsilon, gamma, mode, enabled, use, path, dir, file, margin, delta, bound, limit, hysteresis,
window, alpha, temperature, id, version, cfg, config, schedule, scheduler, plot, reduction, smoothing, tolerance, tol, mult, time, times, seconds, secs, memory, mem, took, elapsed, terms, multiplier, power, kind, spike, spikes
"""
"""Words that make a setting or a count of what stands beside them: ``loss_weight`` is no loss."""
