"""What notebooks show: HTML of tensors, plans, counters, models and histories.

It stands alone (no style sheet, no script), takes its colours from the page around it, so that it reads
in light and dark, and has a bounded size whatever it shows. All text that comes from elsewhere is escaped.
"""

from html import escape

from ._tenure import format_bytes, holders

MOST_ROWS = 60
MOST_CHARACTERS = 4000

BOX = "font-size:13px;line-height:1.5;margin:4px 0"
MONO = "font-family:ui-monospace,Menlo,'DejaVu Sans Mono',monospace"
FAINT = "opacity:.65"
CELL = "padding:2px 14px 2px 0;text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.3)"
NUMBER = CELL.replace("left", "right")
PRE = f"{MONO};font-size:12px;margin:2px 0 6px;white-space:pre;overflow-x:auto;background:none;color:inherit"
BAR = "display:inline-block;height:.7em;background:currentColor;opacity:.45;vertical-align:baseline"


def text(value, most=200):
    """Escaped, and not longer than so many characters of the original."""
    value = str(value)
    return escape(value if len(value) <= most else value[: most - 1] + "\u2026")


def box(*parts):
    return f'<div style="{BOX}">{"".join(parts)}</div>'


def heading(title, *facts):
    faint = "".join(f' <span style="{FAINT}">\u00b7 {fact}</span>' for fact in facts if fact)
    return f"<div><b>{title}</b>{faint}</div>"


def pre(value):
    return f'<pre style="{PRE}">{text(value, MOST_CHARACTERS)}</pre>'


def bar(share):
    """A share of 1 as a bar."""
    return f'<span style="{BAR};width:{max(0.0, min(1.0, share)) * 8:.2f}em"></span>'


def table(headings, rows):
    """Rows of HTML, under headings; one that ends in '#' is of numbers. Of many rows the first are shown."""
    rows = list(rows)
    styles = [NUMBER if name.endswith("#") else CELL for name in headings]
    head = "".join(f'<th style="{style}">{text(name.rstrip("#"))}</th>' for name, style in zip(headings, styles))
    body = "".join("<tr>" + "".join(f'<td style="{style}">{cell}</td>' for cell, style in zip(row, styles)) + "</tr>"
                   for row in rows[:MOST_ROWS])
    more = f'<div style="{FAINT}">and {len(rows) - MOST_ROWS} more</div>' if len(rows) > MOST_ROWS else ""
    return (f'<div style="overflow-x:auto"><table style="border-collapse:collapse;background:none;color:inherit">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}")


def code(value):
    return f'<span style="{MONO}">{text(value)}</span>'


def spec_of(x):
    sizes = ", ".join("?" if size is None else str(size) for size in x.shape)
    return f"{x.dtype}[{sizes}]"


def named(x):
    return f' "{x.name}"' if x.name else ""


def holder_rows(found):
    return [(text(h.kind), text(f"tensor {h.tensor}" if h.tensor else ""), text(h.name), text(h.op), code(h.site))
            for h in found]


HOLDER_HEADINGS = ("kind", "of", "name", "op", "line")


def of_holders(found):
    if not found:
        return box("nobody holds the data: it is freed")
    return box(heading(f"{len(found)} holder{'s' if len(found) > 1 else ''}"), table(HOLDER_HEADINGS, holder_rows(found)))


def of_tensor(x):
    if x.disposed == "by donate()":
        return box(pre(repr(x)))
    made = f"made by {text(x.op)} at {code(x.created)}"
    if x.is_symbolic:
        return box(pre(repr(x)), f'<span style="{FAINT}">{made}; it has no data</span>')
    title = f"tensor {x.id}{text(named(x))}"
    if not x.is_disposed:
        return box(pre(repr(x)), heading(title, text(spec_of(x)), format_bytes(x.nbytes), made))
    left = holders(x)
    return box(
        heading(f"disposed {title}", text(spec_of(x))),
        table(("", ""), [("made", f"{code(x.created)} by {text(x.op)}"), ("disposed", code(x.disposed)),
                         ("the data", f"{format_bytes(x.nbytes)}, still held by" if left else "freed: nobody holds it")]),
        table(HOLDER_HEADINGS, holder_rows(left)) if left else "")


def of_variable(v):
    if v.is_disposed:
        return box(heading(f"disposed variable{text(named(v))}", text(spec_of(v))))
    return box(pre(repr(v.value)), heading(f"variable{text(named(v))}", text(spec_of(v)),
                                           "" if v.trainable else "not trainable", code(v.created)))


def of_live_tensors(found):
    rows = sorted(found, key=lambda t: -t.storage_bytes)
    return box(heading(f"{len(found)} live tensors", "the largest first"),
               table(("id#", "name", "is", "bytes of its storage#", "for", "op", "line"),
                     [(t.id, text(t.name), text(f"{t.dtype}{list(t.shape)}"), format_bytes(t.storage_bytes),
                       text(t.category), text(t.op), code(t.site)) for t in rows]))


def of_memory(stats):
    largest = max([1, *stats.categories.values()])
    rows = [(text(name), format_bytes(size), bar(size / largest)) for name, size in stats.categories.items() if size]
    return box(
        heading(f"{format_bytes(stats.bytes)} live", f"{stats.tensors} tensors on {stats.storages} storages",
                f"peak {format_bytes(stats.peak)}", f"{stats.allocations} allocations, {stats.frees} frees",
                f"{format_bytes(stats.cached_bytes)} cached"),
        table(("what for", "bytes#", ""), rows) if rows else "")


def of_plan(plan):
    peak = max(1, plan.peak)
    return box(
        heading(f"peak {format_bytes(plan.peak)}", f"arena {format_bytes(plan.arena)}",
                f"constants {format_bytes(plan.constants)}" if plan.constants else "",
                f"packed weights {format_bytes(plan.packed)}" if plan.packed else "",
                f"{100 * plan.recomputed:.1f} % computed twice" if plan.recomputed else ""),
        table(("step", "bytes#", "live#", "", "", "line"),
              [(text(s.op), format_bytes(s.bytes), format_bytes(s.live), bar(s.live / peak),
                "in place" if s.in_place else "", code(s.site)) for s in plan.steps]))


def of_step_plan(plan):
    parts = [("parameters", plan.parameters), ("state of the optimizer", plan.optimizer), ("the batch", plan.batch),
             ("the step", plan.plan.peak)]
    largest = max([1, *(size for _, size in parts)])
    return box(heading(f"a training step takes {format_bytes(plan.peak)}"),
               table(("", "bytes#", ""), [(text(name), format_bytes(size), bar(size / largest)) for name, size in parts]),
               f"<details><summary>the steps of its plan</summary>{of_plan(plan.plan)}</details>")


def of_layer(layer):
    trainable = {v.name for v in layer.trainable()}
    buffers = {v.name for v in layer.buffers()}
    rows, total = [], 0
    for v in layer.variables():
        count = 1
        for size in v.variable.shape:
            count *= size
        size = count * v.variable.dtype.itemsize
        total += size
        role = "" if v.name in trainable else "buffer" if v.name in buffers else "frozen"
        rows.append((code(v.name), text(spec_of(v.variable)), f"{count:,}", format_bytes(size), role))
    return box(heading(text(f"{layer.kind} {layer.describe()}".strip()), f"{layer.parameter_count:,} parameters",
                       format_bytes(total), f"made at {code(layer.created)}"),
               table(("parameter", "is", "elements#", "bytes#", ""), rows) if rows else "")


def of_history(history):
    epochs = history.epochs
    has_validation = any(e.validation is not None for e in epochs)
    names = ["epoch#", "loss#"] + ["validation#"] * has_validation + ["seconds#", "peak#"]
    shown = epochs if len(epochs) <= MOST_ROWS else epochs[:3] + epochs[-(MOST_ROWS - 3):]
    rows = [[e.number, f"{e.training.loss:.6g}"]
            + ([f"{e.validation.loss:.6g}" if e.validation else ""] if has_validation else [])
            + [f"{e.seconds:.2f}", format_bytes(e.peak)] for e in shown]
    return box(heading(f"{len(epochs)} epochs", text(history.reason)), history.plot().svg if epochs else "", table(names, rows))


def of_function(f):
    return box(pre(f.explain()))


def of_text(value):
    return box(pre(value))


def of_report(report):
    page = report.page()
    # Scripts of the page run, and reach nothing of the notebook.
    return (f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" loading="lazy"'
            f' title="{text(report.file)}" style="width:100%;height:640px;border:1px solid rgba(128,128,128,.3)"></iframe>')
