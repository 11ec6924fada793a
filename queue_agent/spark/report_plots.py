"""Plots of a report, as PNG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from io import BytesIO
from math import isnan
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.colors import LogNorm
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from queue_agent.spark.report_data import Curve, ReportData, short_names
from queue_agent.trim_policies import ConstraintKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LINES: Final = 8
MAX_HEATMAP_ROWS: Final = 60
MAX_BARS: Final = 20
MAX_SUBJECTS: Final = 2

_WIDTH: Final = 12.0
_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f3c8d", "#555555")
_OTHERS: Final = "#c4c9cf"
_CAUGHT_UP: Final = "#eef3ee"
_UNKNOWN: Final = "#ffffff"
_CAUSES: Final[Mapping[str, str]] = {kind.value: kind.color for kind in ConstraintKind}
_STYLE: Final = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "figure.dpi": 110,
    "font.size": 10,
    "grid.color": "#e6e6e6",
    "savefig.bbox": "tight",
    "text.parse_math": False,  # names may hold dollars
}
_NOTHING: Final = 0.5
"""Below the least value that has a colour of its own."""

_SECONDS: Final = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400)
_ROWS: Final = tuple(10**exponent for exponent in range(13))

Values = Callable[[Curve], Sequence[float]]


def draw_plots(data: ReportData) -> dict[str, bytes]:
    """All plots there is anything to be seen in, by name."""
    plots: dict[str, bytes] = {}
    with mpl.rc_context(_STYLE):
        for name, title, values, ticks, tell in (
            ("lag", "Lag: rows not read yet", _lag_rows, _ROWS, tell_count),
            ("freshness", "Freshness: age of the oldest row not read yet", _freshness, _SECONDS, tell_seconds),
        ):
            if any(not isnan(value) for curve in data.curves for value in values(curve)):
                plots[name] = _png(_draw_curves(data, title, values, ticks, tell))
        if any(row["write_rate_avg"] is not None for row in data.queues):
            plots["queues"] = _png(_draw_queues(data))
        if any(row["held_rows_max"] for row in data.retention):
            plots["retention"] = _png(_draw_retention(data))
    return plots


def tell_count(value: float, position: object = None) -> str:
    """A number of rows with few digits, such as `12.5k`."""
    for limit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.3g}"


def tell_seconds(value: float, position: object = None) -> str:
    """A duration with few digits, such as `1.5 h`."""
    for limit, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value:.3g} s"


def _lag_rows(curve: Curve) -> Sequence[float]:
    return curve.lag_rows


def _freshness(curve: Curve) -> Sequence[float]:
    return curve.freshness


def _worst(curves: Sequence[Curve], values: Values) -> list[Curve]:
    """Curves with anything known in them, the highest first."""

    def peak(curve: Curve) -> tuple[float, float]:
        known = [value for value in values(curve) if not isnan(value)]
        return max(known), sum(known)

    known = [curve for curve in curves if any(not isnan(value) for value in values(curve))]
    return sorted(known, key=peak, reverse=True)


def _draw_curves(
    data: ReportData, title: str, values: Values, ticks: Sequence[float], tell: Callable[[float], str]
) -> Figure:
    """The worst few as lines, and below them each consumer as a row of colours."""
    curves = _worst(data.curves, values)
    shown = curves[:MAX_HEATMAP_ROWS]
    heights = [4.0, 0.5 + 0.21 * len(shown)]
    figure = Figure(figsize=(_WIDTH, sum(heights) + 1.2), layout="constrained")
    lines, heat = figure.subplots(2, 1, sharex=True, height_ratios=heights)
    _draw_lines(lines, data, curves, values)
    peak = max((value for curve in curves for value in values(curve) if not isnan(value)), default=0.0)
    top = max(10.0, peak)
    lines.set_yscale("symlog", linthresh=1, linscale=0.5)
    lines.set_ylim(0, top * 2)
    lines.yaxis.set_major_locator(FixedLocator([0, *(tick for tick in ticks if tick <= top * 2)]))
    lines.yaxis.set_minor_locator(NullLocator())
    lines.yaxis.set_major_formatter(FuncFormatter(tell))
    figure.suptitle(title, x=0.01, horizontalalignment="left", fontweight="bold")
    lines.set_ylabel("rows" if tell is tell_count else "age")
    _draw_heat(figure, heat, data, shown, values, top, ticks, tell)
    left_out = len(curves) - len(shown)
    heat.set_title(
        f"Each consumer ← queue, the worst {len(shown)} of {len(curves)}" if left_out else "Each consumer ← queue"
    )
    return figure


def _draw_lines(axes: Axes, data: ReportData, curves: Sequence[Curve], values: Values) -> None:
    times = date2num([*data.times])
    half = data.bucket / timedelta(days=1) / 2
    for curve in curves[MAX_LINES:]:
        axes.plot(times + half, values(curve), color=_OTHERS, linewidth=0.8)
    for curve, color in zip(curves[:MAX_LINES], _COLORS, strict=False):
        axes.plot(
            times + half, values(curve), color=color, linewidth=1.6, label=curve.label, marker=".", markersize=2.5
        )
    others = len(curves) - MAX_LINES
    if others > 0:
        axes.plot([], [], color=_OTHERS, label=f"{others} others")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, fontsize=9, borderaxespad=0.2)


def _draw_heat(
    figure: Figure,
    axes: Axes,
    data: ReportData,
    curves: Sequence[Curve],
    values: Values,
    top: float,
    ticks: Sequence[float],
    tell: Callable[[float], str],
) -> None:
    edges = date2num([*data.times, data.times[-1] + data.bucket])
    colors = mpl.colormaps["YlOrRd"].with_extremes(under=_CAUGHT_UP, bad=_UNKNOWN)
    # What is zero has no logarithm, and would look as if it was not known.
    cells = [[max(value, _NOTHING) for value in values(curve)] for curve in curves]
    mesh = axes.pcolormesh(edges, range(len(curves) + 1), cells, cmap=colors, norm=LogNorm(1, top))
    axes.set_yticks([row + 0.5 for row in range(len(curves))], [curve.label for curve in curves], fontsize=8)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set_xlim(date2num(data.since), date2num(data.until))
    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_xlabel("time, UTC")
    bar = figure.colorbar(mesh, ax=axes, location="bottom", aspect=70, pad=0.01, extend="min")
    bar.ax.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if tick <= top]))
    bar.ax.xaxis.set_minor_locator(NullLocator())
    bar.ax.xaxis.set_major_formatter(FuncFormatter(tell))
    bar.set_label("left end: nothing to read; white: not known")


def _draw_queues(data: ReportData) -> Figure:
    """Rates of the busiest queues; queues nobody wrote to are counted below."""
    busy = [row for row in data.queues if row["write_rate_avg"]]
    shown = sorted(busy, key=lambda row: row["write_rate_avg"], reverse=True)[:MAX_BARS]
    figure, axes = _bars(len(shown))
    places = range(len(shown))
    axes.barh(places, [row["write_rate_avg"] for row in shown], color=_COLORS[0], height=0.7, label="average")
    axes.plot(
        [row["write_rate_max"] for row in shown],
        places,
        "|",
        color=_COLORS[1],
        markersize=11,
        mew=2,
        label="peak (1 min)",
    )
    axes.set_yticks(places, [data.queue_labels[row["cluster"], row["queue"]] for row in shown], fontsize=9)
    axes.set_xlabel("rows written per second")
    axes.xaxis.set_major_formatter(FuncFormatter(tell_count))
    axes.set_xlim(left=0)
    axes.set_title(_counted("Busiest queues", shown, busy) + f"; {len(data.queues) - len(busy)} idle")
    if shown:
        axes.legend(loc="lower right", frameon=False)
    return figure


def _draw_retention(data: ReportData) -> Figure:
    """Rows held back in each queue, by what holds them."""
    held: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in data.retention:
        if row["held_rows_max"]:
            held.setdefault((row["cluster"], row["queue"]), []).append(row)
    order = sorted(held, key=lambda queue: sum(row["held_rows_max"] for row in held[queue]), reverse=True)
    shown = order[:MAX_BARS]
    figure, axes = _bars(len(shown))
    named: set[str] = set()
    names = short_names(sorted({row["subject"] for row in data.retention if row["subject"]}))
    for place, queue in enumerate(shown):
        left = 0.0
        for row in held[queue]:
            cause = row["constraint"]
            axes.barh(
                place,
                row["held_rows_max"],
                left=left,
                color=_CAUSES.get(cause, "#555555"),
                edgecolor="white",
                height=0.7,
                label=None if cause in named else cause.replace("_", " "),
            )
            named.add(cause)
            left += row["held_rows_max"]
        subjects = dict.fromkeys(row["subject"] for row in held[queue] if row["subject"])
        words = ", ".join([names[subject] for subject in subjects][:MAX_SUBJECTS])
        more = f" and {len(subjects) - MAX_SUBJECTS} more" if len(subjects) > MAX_SUBJECTS else ""
        axes.annotate(words + more, (left, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(shown)), [data.queue_labels.get(queue, queue[1]) for queue in shown], fontsize=9)
    axes.set_xlabel("rows kept by each cause at its worst")
    axes.xaxis.set_major_formatter(FuncFormatter(tell_count))
    axes.margins(x=0.25)
    axes.set_title(_counted("What keeps rows from being trimmed", shown, order))
    axes.legend(loc="lower right", frameon=False)
    return figure


def _bars(count: int) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, 1.4 + 0.3 * max(count, 2)), layout="constrained")
    axes = figure.subplots()
    axes.grid(visible=False, axis="y")
    axes.invert_yaxis()
    return figure, axes


def _counted(title: str, shown: Sequence[object], all_there_are: Sequence[object]) -> str:
    return title if len(shown) == len(all_there_are) else f"{title}, {len(shown)} of {len(all_there_are)}"


def _png(figure: Figure) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
