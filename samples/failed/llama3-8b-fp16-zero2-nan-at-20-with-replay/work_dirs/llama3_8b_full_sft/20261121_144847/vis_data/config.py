batch_size = 4
custom_hooks = [
    dict(
        evaluation_inputs=[
            'papab pepeb pipib',
        ],
        every_n_iters=25,
        tokenizer='model',
        type='EvaluateChatHook'),
]
data_path = 'data/train.jsonl'
default_hooks = dict(
    checkpoint=None,
    logger=dict(interval=10, log_metric_by_epoch=False, type='LoggerHook'),
    param_scheduler=dict(type='ParamSchedulerHook'),
    timer=dict(type='IterTimerHook'))
env_cfg = dict(dist_cfg=dict(backend='gloo'))
evaluation_freq = 25
evaluation_inputs = [
    'papab pepeb pipib',
]
log_level = 'INFO'
log_processor = dict(by_epoch=False)
lr = 0.0012
max_iters = 50
max_length = 64
max_norm = 1
model = dict(llm='model', type='SupervisedFinetune')
optim_wrapper = dict(
    optimizer=dict(
        betas=(
            0.9,
            0.999,
        ), lr=0.0012, type='AdamW', weight_decay=0.0),
    type='DeepSpeedOptimWrapper')
param_scheduler = [
    dict(begin=0, by_epoch=False, end=60, start_factor=0.01, type='LinearLR'),
]
pretrained_model_name_or_path = 'model'
randomness = dict(deterministic=False, seed=14)
strategy = dict(
    bf16=dict(enabled=False),
    fp16=dict(
        enabled=True,
        hysteresis=2,
        initial_scale_power=16,
        loss_scale=0,
        loss_scale_window=1000,
        min_loss_scale=1),
    gradient_accumulation_steps=1,
    gradient_clipping=1,
    train_micro_batch_size_per_gpu=4,
    type='DeepSpeedStrategy',
    zero_optimization=dict(stage=2))
train_cfg = dict(by_epoch=False, max_iters=50)
train_dataloader = dict(
    batch_size=4,
    collate_fn=dict(type='equal_length_collate'),
    dataset=dict(
        max_length=64,
        path='data/train.jsonl',
        tokenizer='model',
        type='TextDataset'),
    num_workers=0,
    sampler=dict(shuffle=True, type='DefaultSampler'))
visualizer = dict(
    type='Visualizer',
    vis_backends=[
        dict(type='LocalVisBackend'),
        dict(type='TensorboardVisBackend'),
    ])
warmup_iters = 60
weight_decay = 0.0
work_dir = 'work_dirs/llama3_8b_full_sft'
