"""One HiGHS run, with every status looked at: load, watch, stop.

HiGHS runs in a worker thread while the caller's thread waits, so that Ctrl-C, the caller's own interrupt
and a deadline are heard even while HiGHS is deaf: inside the root LP of a MIP no callback fires (10 s on
30,000 columns). A fresh thread also brings a fresh HiGHS task executor, without which a changed thread
count makes `run()` fail; a fresh Highs object carries no earlier incumbent and no earlier clock. The
callbacks only record; whatever belongs to the caller (progress, log, interrupt) is called in the caller's
thread, so that its exceptions reach the caller.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np
from highspy import HighsModelStatus, HighsStatus, cb
from numpy.typing import NDArray

from optimizer.errors import SolverFailure
from optimizer.solver.arrays import LinearProgram
from optimizer.solver.options import OptionValue, SolveOptions
from optimizer.solver.outcome import relative_gap

Progress = Callable[[float, float, float, float], None]
Interrupt = Callable[[], bool]
Floats = NDArray[np.float64]
Highs = highspy._core._Highs

SMALLEST_COEFFICIENT = 1e-12
"""HiGHS drops entries at or below `small_matrix_value` (by default 1e-9); this is the least it takes."""
POLL_SECONDS = 0.05
HEARTBEAT_SECONDS = 1.0
"""Progress is told on every change, and after this long without one."""
PATIENCE_SECONDS = 3.0
"""With a tenth of the time limit: the overshoot after which a run is stopped from outside."""
GRACE_SECONDS = 2.0
"""How long a stopped run may take to notice before its last incumbent is taken from the callbacks instead."""

_INTERRUPTS = (cb.kCallbackMipInterrupt, cb.kCallbackSimplexInterrupt, cb.kCallbackIpmInterrupt)
LIMITS = {
    HighsModelStatus.kTimeLimit,
    HighsModelStatus.kIterationLimit,
    HighsModelStatus.kSolutionLimit,
    HighsModelStatus.kMemoryLimit,
    HighsModelStatus.kObjectiveTarget,
}
STOPPED = {HighsModelStatus.kInterrupt}

_IMPROVED = int(cb.kCallbackMipImprovingSolution)
_LOGGING = int(cb.kCallbackLogging)
_MIP = int(cb.kCallbackMipInterrupt)


@dataclass
class Watch:
    """What the callbacks saw, and the one thing they are told: stop."""

    stop: bool = False
    x: Floats | None = None
    incumbent: float = math.inf
    bound: float = -math.inf
    nodes: int = 0
    lines: deque[str] = field(default_factory=deque)
    status: HighsStatus | None = None
    done: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    def callback(self, kind: Any, message: str, seen: Any, answer: Any, _: Any) -> None:
        """Called by HiGHS in the worker thread; an exception would only become a status, so it is kept."""
        try:
            if kind == _LOGGING:
                self.lines.append(message)
                return
            if kind == _IMPROVED:
                self.x, self.incumbent = np.array(seen.mip_solution), seen.mip_primal_bound
            elif kind == _MIP:
                self.incumbent, self.nodes = seen.mip_primal_bound, seen.mip_node_count
                self.bound = max(self.bound, seen.mip_dual_bound)
            if self.stop and kind != _IMPROVED:
                answer.user_interrupt = True
        except BaseException as error:
            self.error, self.stop = error, True


@dataclass(frozen=True)
class Run:
    """How a run ended. When HiGHS was left behind, `finished` is False, `model` says kInterrupt and only the
    watch may be asked."""

    highs: Highs
    watch: Watch
    model: HighsModelStatus
    finished: bool
    interrupted: bool
    by_keyboard: bool
    seconds: float


def load(lp: LinearProgram, options: SolveOptions, extra: Mapping[str, OptionValue]) -> Highs:
    """A fresh Highs with the options set and the program passed, or SolverFailure."""
    _check_numbers(lp)
    highs = Highs()
    settings: dict[str, OptionValue] = {
        "output_flag": options.log is not None,
        "log_to_console": False,
        "threads": options.threads,
        "random_seed": options.seed,
        "mip_rel_gap": options.gap,
        "small_matrix_value": SMALLEST_COEFFICIENT,
        **({"time_limit": options.time_limit} if math.isfinite(options.time_limit) else {}),
        **extra,
        **options.highs_options,
    }
    for name, value in settings.items():
        demand(highs.setOptionValue(name, value), f"set {name} = {value!r}")
    rows, columns = lp.A.shape
    layout, sense = int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize)
    starts, indices = lp.A.indptr.astype(np.int32), lp.A.indices.astype(np.int32)
    passed = highs.passModel(
        columns, rows, lp.A.nnz, layout, sense, lp.offset,
        lp.c, lp.col_lower, lp.col_upper, lp.row_lower, lp.row_upper,
        starts, indices, lp.A.data, lp.integrality.astype(np.int32),
    )  # fmt: skip
    demand(passed, "pass the model")
    return highs


def demand(status: HighsStatus, action: str) -> None:
    """Anything but Ok from a call that only sets or reads is a failure: HiGHS raises nothing by itself."""
    if status != HighsStatus.kOk:
        raise SolverFailure(f"HiGHS did not {action}: {status.name}")


def run(
    highs: Highs,
    options: SolveOptions,
    *,
    interrupt: Interrupt | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run to the end, to the limit, or until told to stop; a second Ctrl-C raises at once.

    A run that overshoots its own time limit by more than a tenth and 3 s is stopped from outside.
    """
    watch = Watch()
    demand(highs.setCallback(watch.callback, None), "take the callback")
    kinds = [*_INTERRUPTS, cb.kCallbackMipImprovingSolution]
    for kind in [*kinds, cb.kCallbackLogging] if options.log else kinds:
        demand(highs.startCallback(kind), f"start callback {kind}")
    worker = threading.Thread(target=_work, args=(highs, watch), name="highs")
    started = time.perf_counter()
    by_keyboard = interrupted = False
    patience, give_up = options.time_limit * 1.1 + PATIENCE_SECONDS, math.inf
    told, shown = 0.0, (math.nan, math.nan)
    try:
        worker.start()
        while not watch.done.is_set():
            try:  # not worker.join: a KeyboardInterrupt inside join makes CPython 3.11 call the thread dead
                watch.done.wait(POLL_SECONDS)
                seconds = time.perf_counter() - started
                _drain(watch, options)
                known = (watch.incumbent, watch.bound)
                if progress and (known != shown or seconds > told + HEARTBEAT_SECONDS):
                    shown, told = known, seconds
                    progress(seconds, *known, relative_gap(*known))
                if not watch.stop and interrupt and interrupt():
                    watch.stop = interrupted = True
                    give_up = seconds + GRACE_SECONDS
                if not watch.stop and seconds > patience:
                    watch.stop = True
                    give_up = seconds + GRACE_SECONDS
                if seconds > give_up:
                    break
            except KeyboardInterrupt:
                if by_keyboard:
                    raise
                watch.stop = by_keyboard = interrupted = True
                give_up = min(give_up, time.perf_counter() - started + GRACE_SECONDS)
    finally:
        watch.stop = True
    finished = watch.done.is_set()
    _drain(watch, options)
    if watch.error is not None:
        raise SolverFailure("the HiGHS run or its callback raised") from watch.error
    model = _model_status(highs, watch) if finished else HighsModelStatus.kInterrupt
    return Run(highs, watch, model, finished, interrupted, by_keyboard, time.perf_counter() - started)


def _work(highs: Highs, watch: Watch) -> None:
    try:
        watch.status = highs.run()
    except BaseException as error:
        watch.error = error
    finally:  # release this thread's executor before the thread ends, as highspy itself does
        Highs.resetThreadScheduler(False)
        watch.done.set()


def _drain(watch: Watch, options: SolveOptions) -> None:
    while options.log and watch.lines:
        options.log(watch.lines.popleft().rstrip("\n"))


def _model_status(highs: Highs, watch: Watch) -> HighsModelStatus:
    """The model status of a finished run, after a look at the run's own status."""
    model = highs.getModelStatus()
    if watch.status is None or watch.status == HighsStatus.kError:
        raise SolverFailure(f"HiGHS failed while solving, with model status {model.name}")
    return model


def _check_numbers(lp: LinearProgram) -> None:
    """HiGHS takes NaN with status Ok and drops small entries with a warning: say which number is meant."""
    for what, values, names in (
        ("cost", lp.c, lp.col_names),
        ("lower bound", lp.col_lower, lp.col_names),
        ("upper bound", lp.col_upper, lp.col_names),
        ("lower side", lp.row_lower, lp.row_names),
        ("upper side", lp.row_upper, lp.row_names),
    ):
        bad = np.isnan(values) if what != "cost" else ~np.isfinite(values)
        if bad.any():
            raise SolverFailure(f"the {what} of {names[int(bad.argmax())]} is {values[bad.argmax()]}")
    sizes = np.abs(lp.A.data)
    bad = ~(sizes < 1e15) | ((sizes <= SMALLEST_COEFFICIENT) & (sizes != 0))
    if bad.any():
        entry = int(bad.argmax())
        column = int(np.searchsorted(lp.A.indptr, entry, side="right") - 1)
        where = f"{lp.col_names[column]} in row {lp.row_names[lp.A.indices[entry]]}"
        text = f"the coefficient {lp.A.data[entry]} of {where} is outside [1e-12, 1e15]: choose other units"
        raise SolverFailure(text)
