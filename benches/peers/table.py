"""The numbers of a run as a table in Markdown."""

import statistics

from measure import percentile

# Row of the measurements, what the table calls it, unit, whether more is better. The unit "p ms" is p50 and p99.
ROWS = [
    ("cold words", "Cold index, all found by keyword", "s", False),
    ("cold meanings", "Cold index, everything embedded", "s", False),
    ("unchanged", "Nothing changed", "ms", False),
    ("fresh", "A save found by keyword, with no manual step", "ms", False),
    ("edit words", "One edit found by keyword, with its manual step", "ms", False),
    ("edit meanings", "One edit found by meaning, with its manual steps", "ms", False),
    ("process keyword", "Keyword search, a process (p50 / p99)", "p ms", False),
    ("process semantic", "Semantic search, a process (p50 / p99)", "p ms", False),
    ("alone keyword", "Keyword search, a process, no server running (p50 / p99)", "p ms", False),
    ("alone semantic", "Semantic search, a process, no server running (p50 / p99)", "p ms", False),
    ("http keyword", "Keyword search over HTTP (p50 / p99)", "p ms", False),
    ("http semantic", "Semantic search over HTTP (p50 / p99)", "p ms", False),
    ("http hybrid", "Hybrid search over HTTP (p50 / p99)", "p ms", False),
    ("load keyword", "Keyword searches a second, 8 clients", "/s", True),
    ("load semantic", "Semantic searches a second, 8 clients", "/s", True),
    ("load hybrid", "Hybrid searches a second, 8 clients", "/s", True),
    ("indexing memory", "Most memory while indexing", "MB", False),
    ("serving memory", "Memory of the server, after all searches", "MB", False),
    ("disk words", "Index on disk, without vectors, of the text", "×", False),
    ("disk meanings", "Index on disk, with vectors, of the text", "×", False),
]


def number(value):
    """Three digits, and no more zeros than those say."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell(values, unit):
    """The median of the values, or of times of many searches the 50th and 99th percentile."""
    found = [value for value in values if value is not None]
    if not values:
        return "–"
    if not found:
        return "never"
    missed = f" ({len(values) - len(found)} of {len(values)} never)" if len(found) < len(values) else ""
    if unit == "p ms":
        return f"{number(percentile(found, 0.5))} / {number(percentile(found, 0.99))} ms"
    space = "" if unit == "/s" else " "
    return number(statistics.median(found)) + space + unit + missed


def ahead(ours, others, more_is_better):
    """How many times the first contender is better than the best of the others; below 1 it is behind."""
    found = [[value for value in values if value is not None] for values in others]
    middles = [statistics.median(values) for values in found if values]
    if not ours or None in ours or not middles:
        return "–"
    best = (max if more_is_better else min)(middles)
    ratio = statistics.median(ours) / best if more_is_better else best / statistics.median(ours)
    return f"{number(ratio)} ×"


def table(times, versions):
    """Rows of Markdown: a column a contender, by name, and last the ratio of the first to the best of the others."""
    names = list(versions)
    heads = [f"{name} {version.split()[0]}" for name, version in versions.items()]
    lines = ["| | " + " | ".join(heads) + " | ahead of the best other |", "|---|" + "---:|" * (len(names) + 1)]
    for row, label, unit, more_is_better in ROWS:
        values = [times[row][name] for name in names]
        if any(values):
            ratio = ahead(values[0], values[1:], more_is_better)
            lines.append(f"| {label} | " + " | ".join(cell(one, unit) for one in values) + f" | {ratio} |")
    return "\n".join(lines)
