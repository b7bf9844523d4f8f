"""The environment of Gymnasium."""

import threading

import gymnasium
import numpy
import pytest
from gymnasium.utils.env_checker import check_env

import schedlab
import schedlab.gym as lab


def small(**changes):
    """An environment whose trials are short."""
    return lab.SchedulingEnv(**({"duration_ms": 1000, "warmup_ms": 200, "wait_us": 2000} | changes))


def test_it_is_an_environment_by_gymnasiums_own_check():
    env = gymnasium.make("schedlab/Scheduling-v0", duration_ms=300, warmup_ms=100)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_the_oldest_request_first_is_the_scheduler_fcfs_to_the_last_digit():
    for device, work in [("hp97560", "randread:clients=6"), ("cheetah9lp", "mixed:writers=2")]:
        env = small(device=device, workload=work, candidates=64)
        total, steps, metrics = lab.episode(env, lab.oldest, seed=3)
        assert metrics == env.observe(0, seed=3) and steps > 10 and total > 0


def test_a_trial_is_the_same_for_the_same_seed_and_another_for_another():
    env = small(workload="randread:clients=6")
    found = [lab.episode(env, lab.nearest, seed=seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_waiting_pays_off_for_two_readers_as_it_does_for_the_anticipatory_scheduler():
    env = small(duration_ms=3000, warmup_ms=500)
    rows = {row["policy"]: row["throughput_mb_per_s"] for row in lab.baseline_table(env, seeds=[1])}
    assert rows["anticipate"] > 3 * rows["oldest"] and rows["scheduler anticipatory"] > 3 * rows["scheduler fcfs"]
    assert rows["oldest"] == rows["scheduler fcfs"]


def test_rewards_add_up_to_what_completed_and_to_what_was_open():
    env = small(device="hp97560", workload="randread:clients=4:block_size=4k")
    observation, info = env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, over, info = env.step(0)
        assert not terminated and reward >= 0
        total += reward
    # Warm-up counts for the reward and not for the metrics; the last requests complete behind the last decision.
    window = info["metrics"]["throughput_mb_per_s"] * 1e6 / 2**20
    assert 0.9 * window < total < 1.5 * window
    env = small(device="hp97560", workload="randread:clients=4:block_size=4k", objective="latency")
    total, _, _ = lab.episode(env, lab.oldest, seed=1)
    # Four clients without think time keep about four requests open all the time.
    assert -4 * 1.3 < total < -4 * 0.8


def test_masks_and_rows_agree_and_a_choice_without_a_request_is_the_oldest():
    env = small(device="hp97560", workload="randread:clients=6", candidates=4)
    observation, info = env.reset(seed=1)
    for _ in range(50):
        held = int(observation[0, 1])
        assert info["action_mask"][:4].sum() == min(held, 4) == observation[1:, 0].sum() and info["action_mask"][4] == 1
        assert numpy.isfinite(observation).all()
        observation, _, _, over, info = env.step(3)
        assert not over


def test_an_environment_can_be_left_in_the_middle_reset_and_used_by_two_threads():
    env = small()
    env.reset(seed=1)
    env.step(0)
    env.close()
    with pytest.raises(schedlab.PlanError, match="reset"):
        env.step(0)
    env.reset(seed=2)
    env.reset(seed=3)
    results = []
    threads = [threading.Thread(target=lambda: results.append(lab.episode(small(), lab.oldest, seed=1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] == results[1]
    env.reset(seed=1)
    del env


def test_what_cannot_be_an_environment_is_refused():
    for wrong in ({"objective": "fame"}, {"candidates": 0}, {"candidates": 100_000}, {"wait_us": 0}, {"device": "/dev/sda"}):
        with pytest.raises((schedlab.PlanError, ValueError)):
            small(**wrong)
