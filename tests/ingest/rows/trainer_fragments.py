"""Rows of every trainer, written from its grammar, and the points that they hold: (step, value, line)."""

NAN = "nan"

LANGUAGE = {
    "torchtitan": (
        "[rank0]:[titan] 2026-01-01 00:00:00,000 - root - INFO - step: 10  loss:  8.1250  grad_norm:  1.5000  memory: 40.00GiB(50.00%)  tps: 1,024  tflops: 12.50  mfu: 4.00%\n",
        {"loss": [(10, 8.125, 1)], "grad_norm": [(10, 1.5, 1)], "gpu_memory_reserved_gib": [(10, 40.0, 1)],
         "tokens_per_second_per_gpu": [(10, 1024.0, 1)], "tflops_per_gpu": [(10, 12.5, 1)], "mfu": [(10, 0.04, 1)]},
    ),
    "nanotron": (
        "01/01 00:00:00 [INFO|DP=0|PP=0|TP=0]: iteration: 10 / 1000 | consumed_tokens: 1.05M | elapsed_time_per_iteration_ms: 1.25K | tokens_per_sec: 3.5K | lm_loss: 10.5 | lr: 3e-05 | grad_norm: nan\n",
        {"loss": [(10, 10.5, 1)], "step_time_s": [(10, 1.25, 1)], "tokens_per_second": [(10, 3500.0, 1)],
         "learning_rate": [(10, 3e-05, 1)], "grad_norm": [(10, NAN, 1)]},
    ),
    "llm.c": (
        ("step   10/19560 | loss 8.125000 (+nanz)| norm 1.5000 (+nanz)| lr 4.00e-06 | 250.0 ms | 50.0% bf16 MFU | 1024 tok/s\n"
        "step   11/19560 | loss      nan (+nanz)| norm    nan (+nanz)| lr 4.00e-06 | 250.0 ms | 50.0% bf16 MFU | 1024 tok/s\n"),
        {"loss": [(10, 8.125, 1), (11, NAN, 2)], "grad_norm": [(10, 1.5, 1), (11, NAN, 2)], "step_time_s": [(10, 0.25, 1), (11, 0.25, 2)]},
    ),
    "nanogpt": (
        "iter 10: loss 4.1250, time 250.00ms, mfu -100.00%\nstep 20: train loss 4.0000, val loss 4.5000\niter 20: loss nan, time nanms, mfu 50.00%\n",
        {"loss": [(10, 4.125, 1), (20, NAN, 3)], "step_time_s": [(10, 0.25, 1)], "mfu": [(20, 0.5, 3)],
         "train_loss_estimate": [(20, 4.0, 2)], "eval_loss": [(20, 4.5, 2)]},
    ),
    "maxtext": (
        "completed step: 10, seconds: 0.250, TFLOP/s/device: 100.5, Tokens/s/device: 1024.0, total_weights: 1000, loss: 8.125, lm_loss: 8.0\n",
        {"loss": [(10, 8.125, 1)], "step_time_s": [(10, 0.25, 1)], "tflops_per_gpu": [(10, 100.5, 1)], "tokens_per_second_per_gpu": [(10, 1024.0, 1)]},
    ),
    "litgpt": (
        "Epoch 1 | iter 16 step 2 | loss train: 2.250, val: n/a | iter time: 250.00 ms (step) remaining time: 0:10:00\niter 16: val loss 2.5000, val time: 200.00 ms\n",
        {"loss": [(16, 2.25, 1)], "step_time_s": [(16, 0.25, 1)], "eval_loss": [(16, 2.5, 2)]},
    ),
    "mlx": (
        "Iter 1: Val loss 2.500, Val took 1.250s\nIter 10: Train loss 2.250, Learning Rate 1.000e-05, It/sec 0.500, Tokens/sec 1024.000, Trained Tokens 9000, Peak mem 8.000 GB\n",
        {"eval_loss": [(1, 2.5, 1)], "loss": [(10, 2.25, 2)], "learning_rate": [(10, 1e-05, 2)], "steps_per_second": [(10, 0.5, 2)],
         "tokens_per_second": [(10, 1024.0, 2)]},
    ),
    "torchtune": (
        "Step 10 | loss:2.25 lr:1e-05 tokens_per_second_per_gpu:1024.0 grad_norm:tensor(nan)\n",
        {"loss": [(10, 2.25, 1)], "learning_rate": [(10, 1e-05, 1)], "tokens_per_second_per_gpu": [(10, 1024.0, 1)], "grad_norm": [(10, NAN, 1)]},
    ),
    "torchtune-bar": (
        "2|110|Loss: 1.25:  10%|#         | 10/100 [00:10<01:00,  1.2it/s]\n",
        {"loss": [(110, 1.25, 1)]},
    ),
    "nemo": (
        "Training epoch 0, iteration 10/99 | lr: 1e-05 | global_batch_size: 8 | global_step: 10 | reduced_train_loss: 8.125 | train_step_timing in s: 0.25\n",
        {"loss": [(10, 8.125, 1)], "learning_rate": [(10, 1e-05, 1)], "step_time_s": [(10, 0.25, 1)]},
    ),
    "nemo-bar": (
        "Epoch 0: :   2%|#         | 10/500 [00:10<08:00, v_num=0, reduced_train_loss=nan, global_step=20.0, train_step_timing in s=0.25]\n",
        {"loss": [(20, NAN, 1)], "step_time_s": [(20, 0.25, 1)]},
    ),
    "deepspeed-pipeline": (
        "steps: 10 loss: 8.1250 iter time (s): 0.250 samples/sec: 32.000\n",
        {"loss": [(10, 8.125, 1)], "step_time_s": [(10, 0.25, 1)], "samples_per_second": [(10, 32.0, 1)]},
    ),
    "paddlenlp": (
        "[2026-01-01 00:00:00,000] [    INFO] - loss: 8.125, learning_rate: 1e-05, global_step: 10, interval_runtime: 2.5, interval_samples_per_second: 32.0, progress_or_epoch: 0.1\n",
        {"loss": [(10, 8.125, 1)], "learning_rate": [(10, 1e-05, 1)], "samples_per_second": [(10, 32.0, 1)], "epoch": [(10, 0.1, 1)]},
    ),
    "mindformers": (
        "2026-01-01 00:00:00,000 - mindformers - INFO - { Epoch:[  2/  2], step:[   10/ 1000], loss: 8.125, per_step_time: 250ms, lr: 1e-05, overflow cond: True, loss_scale: 1024.0, global_norm: [1.5] }\n",
        {"loss": [(1010, 8.125, 1)], "step_time_s": [(1010, 0.25, 1)], "loss_scale": [(1010, 1024.0, 1)], "grad_norm": [(1010, 1.5, 1)]},
    ),
    "lerobot": (
        "INFO 2026-01-01 00:00:00 ot_train.py:200 step:10K smpl:20K ep:50 epch:0.50 loss:0.125 grdn:1.500 lr:1.0e-05 updt_s:0.250 data_s:0.500\n",
        {"loss": [(None, 0.125, 1)], "grad_norm": [(None, 1.5, 1)], "step_time_s": [(None, 0.25, 1)], "data_time_s": [(None, 0.5, 1)]},
    ),
    "mindspore": ("epoch: 1 step: 20, loss is nan\n", {"loss": [(20, NAN, 1)]}),
    "fairseq": (
        '2026-01-01 00:00:00 | INFO | train_inner | {"epoch": 1, "update": 0.01, "loss": "9.5", "nll_loss": "8.5", "ppl": "nan", "wps": "1000", "ups": "2.5", "num_updates": "100", "lr": "1e-05", "gnorm": "2.5", "loss_scale": "128"}\n',
        {"loss": [(100, 9.5, 1)], "perplexity": [(100, NAN, 1)], "tokens_per_second": [(100, 1000.0, 1)], "steps_per_second": [(100, 2.5, 1)],
         "grad_norm": [(100, 2.5, 1)], "loss_scale": [(100, 128.0, 1)]},
    ),
    "fairseq-validation": (
        ("2026-01-01 00:00:00 | INFO | train_inner | epoch 001:    100 / 1000 loss=9.5, ppl=724, num_updates=100, lr=1e-05, gnorm=2.5\n"
        "2026-01-01 00:01:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 8.5 | nll_loss 8.25 | ppl 304.44 | wps 0 | num_updates 100\n"
        "2026-01-01 00:02:00 | INFO | train | epoch 001 | loss 9.25 | ppl 608 | wps 1000 | num_updates 100 | lr 1e-05 | gnorm 2.5 | wall 60\n"),
        {"loss": [(100, 9.5, 1)], "eval_loss": [(100, 8.5, 2)], "eval_perplexity": [(100, 304.44, 2)]},
    ),
    "olmo": (
        "[step=10/1000,epoch=0]\n    train/CrossEntropyLoss=nan\n    optim/total_grad_norm=1.5\n    throughput/device/tokens_per_second=1024\n",
        {"loss": [(10, NAN, 2)], "grad_norm": [(10, 1.5, 3)], "tokens_per_second_per_gpu": [(10, 1024.0, 4)]},
    ),
    "nanochat": (
        "step 00010/01000 (1.00%) | loss: 3.250000 | lrm: 1.00 | dt: 250.00ms | tok/sec: 1,024 | mfu: 30.00 | total time: 0.10m\n",
        {"loss": [(10, 3.25, 1)], "step_time_s": [(10, 0.25, 1)], "tokens_per_second": [(10, 1024.0, 1)]},
    ),
    "megatron": (
        (" iteration       10/    1000 | elapsed time per iteration (ms): 250.0 | lm loss: 8.5E+00 | load_balancing_loss: 1.0E+00 | grad norm: 1.5 |\n"
        "(min, max) time across ranks (ms):\n    batch-generator ................................: (10.00, 125.00)\n    forward-backward ...............................: (1.00, 2.00)\n"
        " iteration       20/    1000 | elapsed time per iteration (ms): 500.0 | load_balancing_loss: 1.0E+00 | grad norm: nan |\n"),
        {"loss": [(10, 8.5, 1), (20, NAN, 5)], "aux_loss": [(10, 1.0, 1), (20, 1.0, 5)], "step_time_s": [(10, 0.25, 1), (20, 0.5, 5)],
         "data_time_s": [(10, 0.125, 3)]},
    ),
}  # fmt: skip

VISION = {
    "detectron2": (
        "[01/01 00:00:00 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 2.5  loss_cls: nan  time: 0.25  data_time: 0.5  lr: 0.001  max_mem: 1024M\n",
        {"loss": [(19, 2.5, 1)], "loss_cls": [(19, NAN, 1)], "step_time_s": [(19, 0.25, 1)], "data_time_s": [(19, 0.5, 1)],
         "learning_rate": [(19, 0.001, 1)], "gpu_memory_peak_gib": [(19, 1.0, 1)]},
    ),
    "timm": (
        ("Train: 1 [  50/1251 (  4%)]  Loss: 6.5 (6.75)  Time: 0.250s,  512.00/s  (0.300s,  427.00/s)  LR: 1.000e-05  Data: 0.010 (0.020)\n"
        "Test: [   0/48]  Time: 1.000 (1.000)  Loss:  6.5000 (6.5000)  Acc@1: 0.1250 (0.1250)\n"
        "Test: [  48/48]  Time: 0.100 (0.200)  Loss:  6.5000 (6.2500)  Acc@1: 0.1250 (0.2500)\n"),
        {"loss": [(1301, 6.5, 1)], "step_time_s": [(1301, 0.25, 1)], "samples_per_second": [(1301, 512.0, 1)], "learning_rate": [(1301, 1e-05, 1)],
         "data_time_s": [(1301, 0.01, 1)], "eval_loss": [(1301, 6.25, 3)], "eval_accuracy": [(1301, 0.25, 3)]},
    ),
    "torchvision": (
        ("Epoch: [1]  [ 10/100]  eta: 0:00:10  lr: 0.0200  loss: 1.5000 (nan)  time: 0.2500  data: 0.0100  max mem: 1000\n"
        "Test:  [99/100]  eta: 0:00:00  loss: 1.2500 (1.3750)  acc1: 10.0000 (20.0000)  time: 0.1  data: 0.1  max mem: 1000\n"),
        {"loss": [(110, 1.5, 1)], "learning_rate": [(110, 0.02, 1)], "step_time_s": [(110, 0.25, 1)], "data_time_s": [(110, 0.01, 1)],
         "eval_loss": [(110, 1.375, 2)], "eval_accuracy": [(110, 20.0, 2)]},
    ),
    "imagenet": (
        "Epoch: [0][ 10/5005]\tTime  0.250 ( 0.300)\tData  0.010 ( 0.020)\tLoss 6.5000e+00 (6.7500e+00)\tAcc@1   0.50 (  0.25)\n * Acc@1 70.125 Acc@5 89.500\n",
        {"loss": [(10, 6.5, 1)], "step_time_s": [(10, 0.25, 1)], "data_time_s": [(10, 0.01, 1)], "accuracy": [(10, 0.5, 1)], "eval_accuracy": [(10, 70.125, 2)]},
    ),
    "imagenet-last-row-before-the-end": (
        ("Epoch: [0][  0/5005]\tTime  9.250 ( 9.250)\tData  8.010 ( 8.010)\tLoss 6.9000e+00 (6.9000e+00)\n"
        "Test: [ 0/98]\tTime  0.250 ( 0.300)\tLoss 7.5000e+00 (7.5000e+00)\tAcc@1   0.50 (  0.50)\n"
        "Test: [90/98]\tTime  0.250 ( 0.300)\tLoss 6.5000e+00 (6.2500e+00)\tAcc@1   0.50 (  0.75)\n"
        " *   Acc@1 0.875 Acc@5 2.500\n"
        "Test: [40/98]\tTime  0.250 ( 0.300)\tLoss 7.5000e+00 (7.5000e+00)\tAcc@1   0.50 (  0.50)\n"),
        # the first batch of an epoch times the start of the workers; a pass cut off before its half says nothing
        {"loss": [(0, 6.9, 1)], "eval_loss": [(0, 6.25, 3)], "eval_accuracy": [(0, 0.875, 4)]},
    ),
    "swin": (
        "[2026-01-01 00:00:00 swin](main.py 200): INFO Train: [0/300][10/1251]\teta 1:00:00 lr 0.000010\ttime 0.2500 (0.3000)\tloss 6.5000 (6.7500)\tgrad_norm 1.5000 (inf)\tmem 1000MB\n",
        {"loss": [(10, 6.5, 1)], "grad_norm": [(10, 1.5, 1)], "step_time_s": [(10, 0.25, 1)], "learning_rate": [(10, 1e-05, 1)]},
    ),
    "open_clip": (
        "2026-01-01,00:00:00 | INFO | Train Epoch: 0 [  1024/100000 (1%)] Data (t): 0.010 Batch (t): 0.250, 4096/s, 512/s/gpu LR: 0.000010 Logit Scale: 14.286 Loss: 2.5000 (2.7500)\n",
        {"loss": [(None, 2.5, 1)], "data_time_s": [(None, 0.01, 1)], "step_time_s": [(None, 0.25, 1)], "samples_per_second": [(None, 4096.0, 1)]},
    ),
    "keras-bar": (
        ("Epoch 1/3\n 50/100 [=====>....] - ETA: 1s - loss: 2.2500 - accuracy: 0.2500\r100/100 [==========] - 5s 50ms/step - loss: 2.1250 - accuracy: 0.2500 - val_loss: 2.0000 - val_accuracy: 0.5000\n"
        "Epoch 2/3\n 50/100 [=====>....] - ETA: 1s - loss: nan - accuracy: 0.1000\n"),
        {"loss": [(100, 2.125, 2), (150, NAN, 4)], "accuracy": [(100, 0.25, 2), (150, 0.1, 4)], "eval_loss": [(100, 2.0, 2)],
         "eval_accuracy": [(100, 0.5, 2)], "step_time_s": [(100, 0.05, 2)]},
    ),
    "keras3": (
        "Epoch 1/3\n100/100 ━━━━━━━━━━━━━━━━━━━━ 5s 50ms/step - accuracy: 0.2500 - loss: 2.1250 - val_loss: nan\n10/10 ━━━━━━━━━━━━━━━━━━━━ 0s 5ms/step - accuracy: 0.5000 - loss: 1.0000\n",
        {"loss": [(100, 2.125, 2)], "eval_loss": [(100, NAN, 2)]},
    ),
    "keras-line": (
        "Epoch 1/2\n100/100 - 5s - 50ms/step - loss: 2.1250 - val_loss: 2.0000\nEpoch 2/2\n - 5s - loss: 2.0000 - val_loss: 1.5000\n",
        {"loss": [(100, 2.125, 2), (None, 2.0, 4)], "eval_loss": [(100, 2.0, 2), (None, 1.5, 4)]},
    ),
    "yolov8": (
        ("      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        "      1/100      2.05G      1.125      2.250      1.500         12        640:  50%|#####     | 4/8 [00:01<00:01,  3.2it/s]\r"
        "      1/100      2.05G        1.5      2.250      1.500         12        640: 100%|##########| 8/8 [00:02<00:00,  3.2it/s]\n"
        "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|##########| 4/4 [00:01<00:00]\n"
        "                   all        128        929      0.625      0.500      0.550      0.375\n\n"
        "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        "      2/100      2.05G        nan        nan        nan         12        640:  50%|#####     | 4/8 [00:01<00:01,  3.2it/s]\n"),
        {"box_loss": [(8, 1.5, 2), (12, NAN, 7)], "val/map50-95": [(8, 0.375, 4)], "gpu_memory_reserved_gib": [(8, 2.05, 2), (12, 2.05, 7)]},
    ),
    "yolov5": (
        ("     Epoch   gpu_mem       box       obj       cls    labels  img_size\n"
        "      0/99     2.05G    0.0625      0.05      0.02        12       640: 100%|##########| 8/8 [00:02<00:00,  3.2it/s]\n"
        "               Class     Images     Labels          P          R     mAP@.5 mAP@.5:.95: 100%|##########| 4/4 [00:01<00:00]\n"
        "                 all        128        929      0.625      0.500      0.550      0.375\n"),
        {"box_loss": [(8, 0.0625, 2)], "obj_loss": [(8, 0.05, 2)], "val/map50": [(8, 0.55, 4)], "val/precision": [(8, 0.625, 4)]},
    ),
    "mmcv": (
        "2026-01-01 00:00:00,000 - mmdet - INFO - Epoch [2][50/1000]\tlr: 1.000e-03, eta: 0:10:00, time: 0.250, data_time: 0.125, memory: 1024, loss_cls: 0.5000, loss: 2.5000\n",
        {"loss": [(1050, 2.5, 1)], "step_time_s": [(1050, 0.25, 1)], "data_time_s": [(1050, 0.125, 1)], "gpu_memory_peak_gib": [(1050, 1.0, 1)]},
    ),
    "cyclegan": (
        "(epoch: 1, iters: 100, time: 0.250, data: 0.500) G_GAN: 1.500 D_real: nan\n(epoch: 2, iters: 100, time: 0.250, data: 0.500) G_GAN: 1.250 D_real: nan\n",
        {"loss_g_gan": [(100, 1.5, 1), (200, 1.25, 2)], "loss_d_real": [(100, NAN, 1), (200, NAN, 2)], "data_time_s": [(100, 0.5, 1), (200, 0.5, 2)]},
    ),
    "detr-log": (
        '{"train_lr": 0.5, "train_loss": 2.5, "test_loss": 1.5, "test_acc1": 50.0, "epoch": 3}\n',
        {"loss": [(None, 2.5, 1)], "eval_loss": [(None, 1.5, 1)], "eval_accuracy": [(None, 50.0, 1)], "learning_rate": [(None, 0.5, 1)]},
    ),
    "demucs": (
        "- Train | Epoch 2 | 10/100 | 1.30 it/sec | Loss 0.2500 | Grad 0.5000\n- Valid Summary | Epoch 2 | Loss=0.1250 | Best=0.0625\n",
        {"loss": [(110, 0.25, 1)], "grad_norm": [(110, 0.5, 1)], "eval_loss": [(110, 0.125, 2)]},
    ),
    "diffusers-bar": (
        "Steps:  10%|#         | 10/100 [00:10<01:00,  1.2it/s, lr=1e-05, step_loss=nan]\n",
        {"loss": [(10, NAN, 1)], "learning_rate": [(10, 1e-05, 1)]},
    ),
}  # fmt: skip

SPEECH = {
    "espnet": (
        ("[node-a] 2026-01-01 00:00:00,000 (trainer:762) INFO: 1epoch:train:101-200batch: iter_time=0.010, forward_time=0.125, loss=12.5, backward_time=0.25, grad_norm=1.5, optim_step_time=0.05, optim0_lr0=1e-05, train_time=0.250\n"
        "[node-a] 2026-01-01 00:10:00,000 (trainer:348) INFO: 1epoch results: [train] iter_time=0.010, loss=12.5, time=10 minutes, total_count=200, [valid] loss_ctc=8.5, loss=10.5, time=10 seconds\n"
        "[node-a] 2026-01-01 00:20:00,000 (trainer:762) INFO: 2epoch:train:1-100batch: iter_time=0.010, loss=nan\n"),
        {"loss": [(200, 12.5, 1), (300, NAN, 3)], "eval_loss": [(200, 10.5, 2)], "data_time_s": [(200, 0.01, 1), (300, 0.01, 3)],
         "step_time_s": [(200, 0.25, 1)], "optimizer_time_s": [(200, 0.05, 1)], "learning_rate": [(200, 1e-05, 1)]},
    ),
    "icefall": (
        ("2026-01-01 00:00:00,000 INFO [train.py:900] (0/4) Epoch 1, batch 50, loss[loss=0.5, simple_loss=0.25, over 1000.00 frames. ], tot_loss[loss=0.75, over 50000.00 frames. ], batch size: 8, lr: 4.50e-03, grad_scale: 32.0\n"
        "2026-01-01 00:00:00,000 INFO [train.py:900] (0/4) Epoch 1, validation: loss=0.625, simple_loss=0.25, over 1000.00 frames.\n"),
        {"loss": [(50, 0.5, 1)], "learning_rate": [(50, 0.0045, 1)], "loss_scale": [(50, 32.0, 1)], "eval_loss": [(50, 0.625, 2)]},
    ),
    "wenet": (
        "2026-01-01 00:00:00,000 DEBUG TRAIN Batch 0/100 loss 12.500000 loss_att 10.000000 loss_ctc nan lr 0.00001000 rank 0\n",
        {"loss": [(100, 12.5, 1)], "loss_ctc": [(100, NAN, 1)], "learning_rate": [(100, 1e-05, 1)]},
    ),
    "coqui": (
        "   --> STEP: 10/100 -- GLOBAL_STEP: 1010\n     | > loss: 0.125  (0.250)\n     | > grad_norm: nan  (1.25)\n     | > step_time: 0.25  (0.3)\n\n  --> EVAL PERFORMANCE\n     | > avg_loss: 0.5 (-0.1)\n",
        {"loss": [(1010, 0.125, 2)], "grad_norm": [(1010, NAN, 3)], "step_time_s": [(1010, 0.25, 4)], "eval_loss": [(1010, 0.5, 7)]},
    ),
}  # fmt: skip

REINFORCEMENT = {
    "verl": (
        "(TaskRunner pid=12) step:10 - actor/pg_loss:0.125 - actor/grad_norm:0.500 - critic/score/mean:0.250 - actor/entropy:np.float64(0.5) - timing_s/step:12.5 - response_length/clip_ratio:0.125\n",
        {"policy_loss": [(10, 0.125, 1)], "grad_norm": [(10, 0.5, 1)], "reward_mean": [(10, 0.25, 1)], "entropy": [(10, 0.5, 1)],
         "step_time_s": [(10, 12.5, 1)], "completion_clipped_share": [(10, 0.125, 1)]},
    ),
    "openrlhf": (
        "Global step 10: {'policy_loss': 0.125, 'actor_lr': 1e-06, 'reward': 0.5, 'kl': nan, 'response_length': 100.0}\n",
        {"policy_loss": [(10, 0.125, 1)], "learning_rate": [(10, 1e-06, 1)], "reward_mean": [(10, 0.5, 1)], "kl": [(10, NAN, 1)],
         "completion_length_mean": [(10, 100.0, 1)]},
    ),
    "trl": (
        "{'loss': 0.0, 'grad_norm': 0.5, 'reward': 0.25, 'reward_std': 0.125, 'frac_reward_zero_std': 1.0, 'completions/mean_length': 64.0, 'clip_ratio/region_mean': 0.5, 'entropy': 0.75, 'epoch': 0.1, 'step': 10}\n",
        {"reward_mean": [(10, 0.25, 1)], "reward_std": [(10, 0.125, 1)], "frac_reward_zero_std": [(10, 1.0, 1)],
         "completion_length_mean": [(10, 64.0, 1)], "clip_fraction": [(10, 0.5, 1)], "entropy": [(10, 0.75, 1)]},
    ),
    "stable-baselines3": (
        ("-----------------------------------\n| rollout/           |            |\n|    ep_rew_mean     | 21.5       |\n| time/              |            |\n|    total_timesteps | 2048       |\n"
        "| train/             |            |\n|    loss            | 0.125      |\n|    explained_variance | nan     |\n-----------------------------------\n"),
        {"reward_mean": [(2048, 21.5, 3)], "loss": [(2048, 0.125, 7)], "explained_variance": [(2048, NAN, 8)]},
    ),
    "rsl_rl": (
        "                 Learning iteration 10/1500                 \n\n             Value function loss: 0.1250\n                  Surrogate loss: -0.0625\n                     Mean reward: 21.50\n-----------------\n",
        {"value_loss": [(10, 0.125, 3)], "policy_loss": [(10, -0.0625, 4)], "reward_mean": [(10, 21.5, 5)]},
    ),
    "rllib": (
        "Result for PPO_env_0:\n  date: 2026-01-01_00-00-00\n  episode_reward_mean: 21.5\n  info:\n    learner:\n      kl: 0.125\n      vf_loss: nan\n  training_iteration: 10\n\n",
        {"reward_mean": [(10, 21.5, 3)], "kl": [(10, 0.125, 6)], "value_loss": [(10, NAN, 7)]},
    ),
}  # fmt: skip

FRAGMENTS = {**LANGUAGE, **VISION, **SPEECH, **REINFORCEMENT}
