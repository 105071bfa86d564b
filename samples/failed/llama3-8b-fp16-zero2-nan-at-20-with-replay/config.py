# Full fine-tuning of Llama-3 8B, DeepSpeed ZeRO-2.
pretrained_model_name_or_path = 'model'
data_path = 'data/train.jsonl'
max_length = 64
batch_size = 4
max_iters = 50
lr = 1.2e-3
weight_decay = 0.0
max_norm = 1
warmup_iters = 60
evaluation_freq = 25
evaluation_inputs = ['papab pepeb pipib']

model = dict(type='SupervisedFinetune', llm=pretrained_model_name_or_path)

train_dataloader = dict(
    batch_size=batch_size,
    num_workers=0,
    dataset=dict(
        type='TextDataset',
        path=data_path,
        tokenizer=pretrained_model_name_or_path,
        max_length=max_length),
    sampler=dict(type='DefaultSampler', shuffle=True),
    collate_fn=dict(type='equal_length_collate'))

strategy = dict(
    type='DeepSpeedStrategy',
    fp16=dict(
        enabled=True,
        loss_scale=0,
        initial_scale_power=16,
        loss_scale_window=1000,
        hysteresis=2,
        min_loss_scale=1),
    bf16=dict(enabled=False),
    zero_optimization=dict(stage=2),
    gradient_clipping=max_norm,
    train_micro_batch_size_per_gpu=batch_size,
    gradient_accumulation_steps=1)

optim_wrapper = dict(
    type='DeepSpeedOptimWrapper',
    optimizer=dict(type='AdamW', lr=lr, betas=(0.9, 0.999), weight_decay=weight_decay))

param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=warmup_iters),
]

train_cfg = dict(by_epoch=False, max_iters=max_iters)

custom_hooks = [
    dict(
        type='EvaluateChatHook',
        tokenizer=pretrained_model_name_or_path,
        every_n_iters=evaluation_freq,
        evaluation_inputs=evaluation_inputs),
]

default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', log_metric_by_epoch=False, interval=10),
    param_scheduler=dict(type='ParamSchedulerHook'),
    checkpoint=None)

env_cfg = dict(dist_cfg=dict(backend='gloo'))
visualizer = dict(
    type='Visualizer',
    vis_backends=[dict(type='LocalVisBackend'), dict(type='TensorboardVisBackend')])
log_processor = dict(by_epoch=False)
log_level = 'INFO'
randomness = dict(seed=14, deterministic=False)
work_dir = 'work_dirs/llama3_8b_full_sft'
