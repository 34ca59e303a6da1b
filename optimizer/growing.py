"""While a large structure grows, nothing in it is garbage: the collector of cycles waits until it stands."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def growing(make: Callable[Given, Made]) -> Callable[Given, Made]:
    """`make` without runs of the garbage collector. Hundreds of thousands of terms are made and kept; every
    run in between looks at all of them and finds nothing: two thirds of the time to write a model.
    """

    @wraps(make)
    def made(*args: Given.args, **options: Given.kwargs) -> Made:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return make(*args, **options)
        finally:
            if was_on:
                gc.enable()

    return made
