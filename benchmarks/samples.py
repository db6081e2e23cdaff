"""What was measured, over all rounds, and its table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Sample:
    """The requests of some seconds: how long each took; `failed` of them did not do what was asked."""

    took_s: list[float] = field(default_factory=list)
    elapsed_s: float = 0.0
    failed: int = 0

    def add(self, other: "Sample") -> None:
        """Take in another round."""
        self.took_s.extend(other.took_s)
        self.elapsed_s += other.elapsed_s
        self.failed += other.failed

    @property
    def per_s(self) -> float:
        """Requests a second."""
        return len(self.took_s) / self.elapsed_s if self.elapsed_s else 0.0

    def percentile_ms(self, share: float) -> float:
        """The time that this share of the requests took at most, in milliseconds; 0 without requests."""
        if not self.took_s:
            return 0.0
        return sorted(self.took_s)[max(0, math.ceil(len(self.took_s) * share) - 1)] * 1000


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `sql` is what the same writes came to as plain SQL; `queries` is exact."""

    label: str
    sample: Sample
    sql: Sample | None = None
    queries: int | None = None


def table(rows: Sequence[Row], ceiling: Sample) -> list[str]:
    """The lines: each row's rate and times, and its rate as a part of the ceiling's and of plain SQL's."""
    lines = [f"{'':32}{'per s':>8}{'p50 ms':>9}{'p99 ms':>9}{'failed':>8}{'queries':>9}{'of SDK':>8}{'of SQL':>8}"]
    for row in rows:
        sample = row.sample
        lines.append(
            f"{row.label:32}{sample.per_s:8.0f}{sample.percentile_ms(0.5):9.1f}{sample.percentile_ms(0.99):9.1f}"
            f"{sample.failed:8}{'' if row.queries is None else row.queries:>9}{part(sample, ceiling):>8}"
            f"{'' if row.sql is None else part(sample, row.sql):>8}".rstrip()
        )
    return lines


def part(sample: Sample, whole: Sample) -> str:
    """One rate as a part of another."""
    return f"{sample.per_s / whole.per_s:.3f}" if whole.per_s else "-"
