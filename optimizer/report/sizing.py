"""A model that was built and not solved, as a page: sizes, and how far its numbers lie apart."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from optimizer.design.sizing import LARGEST, SMALLEST, DryRun, Range, RowFamily
from optimizer.report import words
from optimizer.report.blocks import bullets, facts, section, table


def dry_run_page(model: DryRun) -> RenderableType:
    """Sizes first, then every decision and every law, the families to look at marked."""
    parts: list[RenderableType] = [
        Text(f"{model.name}: built, not solved", style="bold"),
        facts(
            [
                ("model", f"{model.columns:,} columns ({model.integers:,} integer), {model.rows:,} rows, "
                          f"{model.nonzeros:,} nonzeros"),
                ("|a|", _range(model.coefficients)),
                ("costs", _range(model.costs)),
                ("bounds", _range(model.column_bounds)),
                ("sides", _range(model.row_sides)),
                ("built in", _seconds(model.seconds)),
                ("input", f"sha256 {model.input_sha256}"),
            ]
        ),
        section("Columns, one family a decision", table(
            ("decision", ">columns", ">integer"),
            [(f.column, f"{f.columns:,}", f"{f.integers:,}") for f in model.columns_by_family],
        )),
        section("Rows, one family a law", table(
            ("law", ">rows", ">nonzeros", ">smallest |a|", ">largest |a|", ""),
            [_row(family) for family in model.rows_by_family],
        )),
    ]  # fmt: skip
    if model.flagged:
        parts.append(Text(f"! {len(model.flagged)} with coefficients outside {SMALLEST:g} to {LARGEST:g}"))
    if model.warnings:
        parts.append(section("Warnings", bullets(model.warnings)))
    return Group(*parts)


def _row(family: RowFamily) -> tuple[str, ...]:
    found = family.coefficients
    least, largest = (f"{found.least:.2g}", f"{found.largest:.2g}") if found else ("", "")
    return family.row, f"{family.rows:,}", f"{family.nonzeros:,}", least, largest, "!" * family.flagged


def _range(found: Range | None) -> str:
    return f"{found.least:.3g} to {found.largest:.3g}" if found else "none"


def _seconds(steps: dict[str, float]) -> str:
    each = ", ".join(f"{name} {words.number(seconds, 2)}" for name, seconds in steps.items())
    return f"{sum(steps.values()):.2f} s ({each})"
