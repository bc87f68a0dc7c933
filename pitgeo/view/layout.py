"""The page's widgets, in Vuetify's terms."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.colors import to_hex

from pitgeo.evaluation.plots.style import BLUE, ERROR_COLORS, FIELD_COLORS
from pitgeo.view.page import Page

THEME = {
    "theme": {"defaultTheme": "light", "themes": {"light": {"colors": {"primary": BLUE}}}},
    "defaults": {
        "VSelect": {"density": "compact", "variant": "outlined", "hideDetails": True},
        "VSwitch": {"density": "compact", "color": "primary", "hideDetails": True},
        "VSlider": {"density": "compact", "color": "primary", "hideDetails": True, "thumbSize": 14, "trackSize": 3},
        "VBtn": {"size": "small", "variant": "tonal", "color": "primary", "class": "text-none"},
    },
}
RAY = "Array.from($event.pokedRenderer.getRenderWindow().getViews()[0].displayToWorld({}, $event.pokedRenderer))"
PIXEL = "$event.position.x, $event.position.y"


def _gradient(name: str) -> str:
    colors = [to_hex(matplotlib.colormaps[name](share / 10)) for share in range(11)]
    return f"linear-gradient(to right, {', '.join(colors)})"


STYLE = f"""
html {{ overflow: hidden !important; }}
.v-switch .v-label {{ font-size: 0.86rem; padding-left: 10px; }}
.v-switch .v-selection-control {{ min-height: 34px; }}
.v-select {{ font-size: 0.9rem; }}
.page {{ display: flex; flex-direction: column; height: 100%; }}
.trust {{ display: flex; gap: 8px; align-items: center; padding: 6px 16px; font-size: 0.86rem; line-height: 1.25;
  border-bottom: 1px solid #e3e3e3; }}
.trust .dot {{ flex: none; width: 11px; height: 11px; border-radius: 50%; background: #8a8a8a; }}
.inside .dot {{ background: #2e8b57; }} .edge .dot {{ background: #e0a100; }} .outside .dot {{ background: #c0392b; }}
.outside {{ background: #fdf0ee; }} .edge {{ background: #fdf7e6; }}
.drawing {{ position: relative; flex: 1 1 0; min-height: 0; }}
.panels {{ position: absolute; inset: 0; display: flex; pointer-events: none; z-index: 2; }}
.panels > div {{ flex: 1; text-align: center; padding-top: 8px; font-weight: 500; font-size: 0.92rem; }}
.panels > div + div {{ border-left: 1px solid #dcdcdc; }}
.legends {{ display: flex; padding: 4px 0 6px; border-top: 1px solid #e3e3e3; }}
.legends > div {{ padding: 0 28px; min-width: 0; }}
.legends .name {{ font-size: 0.8rem; text-align: center; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }}
.legends .name span {{ color: #666; }}
.bar {{ height: 11px; margin: 3px auto 1px; max-width: 560px; }}
.{FIELD_COLORS} {{ background: {_gradient(FIELD_COLORS)}; }}
.{ERROR_COLORS} {{ background: {_gradient(ERROR_COLORS)}; }}
.ticks {{ display: flex; justify-content: space-between; max-width: 592px; margin: 0 auto; font-size: 0.74rem;
  color: #444; }}
.ticks span {{ width: 0; display: flex; justify-content: center; white-space: nowrap; }}
.ticks {{ padding: 0 16px; }}
.tables {{ display: flex; border-top: 1px solid #e3e3e3; height: 148px; }}
.tables > div {{ flex: 1; overflow: auto; padding: 6px 16px; }}
.tables > div + div {{ border-left: 1px solid #e3e3e3; }}
table.own {{ border-collapse: collapse; width: 100%; font-size: 0.8rem; }}
table.own th {{ text-align: right; font-weight: 500; color: #666; }}
table.own td {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
table.own th, table.own td {{ padding: 1px 0 1px 14px; }}
table.own th:first-child, table.own td:first-child {{ text-align: left; padding-left: 0; white-space: normal; }}
.head {{ font-size: 0.74rem; font-weight: 500; letter-spacing: 0.04em; text-transform: uppercase; color: #777; }}
.section {{ padding: 14px 16px 10px; border-bottom: 1px solid #ececec; }}
.number {{ margin-top: 6px; }}
.number .top {{ display: flex; justify-content: space-between; align-items: center; font-size: 0.86rem; gap: 8px; }}
.number .top span {{ overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
.number input {{ width: 104px; flex: none; text-align: right; border: 1px solid #cfcfcf; border-radius: 4px;
  padding: 1px 6px; font-size: 0.84rem; background: white; }}
.range {{ position: relative; height: 3px; margin: -5px 8px 3px; }}
.range div {{ position: absolute; height: 3px; border-radius: 2px; background: #9cc3a8; }}
.note {{ font-size: 0.74rem; color: #666; }}
.far {{ color: #c0392b; font-weight: 500; }}
.hint {{ font-size: 0.8rem; color: #777; }}
"""


def build(page: Page, server: Any) -> None:
    """Add the widgets to the server, and link them to a page.

    Args:
        page: The page.
        server: Trame's server, before it starts.
    """
    from trame.ui.vuetify3 import VAppLayout
    from trame.widgets import client, html
    from trame.widgets import vuetify3 as v

    trigger = server.trigger
    trigger("save_vtu")(page.save_vtu)
    trigger("save_png")(page.save_png)
    server.state.change("case_number", "numbers")(page.changed)
    server.state.change("field_name")(page.field_changed)
    looks = ("component", "step", "clip_on", "clip_axis", "clip_share", "clip_flipped", "edges", "hold")
    server.state.change(*looks)(page.look_changed)
    with VAppLayout(server, vuetify_config=THEME) as layout:
        client.Style(STYLE)
        with v.VAppBar(density="compact", flat=True, border=True):
            html.Span("pitgeo", style=f"font-weight: 600; color: {BLUE}; padding-left: 16px;")
            html.Span("{{ model }}", classes="ml-3 hint")
            v.VSpacer()
            html.Span("{{ seconds }}", classes="hint mr-4", title="time of the last prediction and drawing")
            with v.VBtn(
                id="save-vtu", click="utils.download(file_stem + '.vtu', trigger('save_vtu'), 'application/xml')"
            ):
                html.Span("Save VTU")
            capture = "trame.refs.drawing.captureImage().then((blob) => blob.arrayBuffer())"
            save = "(drawing) => utils.download(file_stem + '.png', trigger('save_png', [drawing]), 'image/png')"
            with v.VBtn(id="save-png", click=f"{capture}.then({save})", classes="mx-3"):
                html.Span("Save PNG")
        with v.VNavigationDrawer(permanent=True, width=320):
            _case(html, v)
            _numbers(page, html, v)
            _look(page, html, v)
        with v.VMain(style="height: 100vh;"), html.Div(classes="page"):
            with html.Div(classes=("['trust', trust]",), id="trust"):
                html.Div(classes="dot")
                html.Span("{{ sentence[0].toUpperCase() + sentence.slice(1) }}.")
            v.VAlert(
                "{{ message }}",
                v_if="message",
                id="message",
                type="error",
                density="compact",
                variant="tonal",
                rounded=0,
                closable=True,
                click_close="message = ''",
            )
            _drawing(page, html, server)
            _legends(html)
            _tables(html)
    layout.flush_content()


def _case(html: Any, v: Any) -> None:
    with html.Div(classes="section"):
        v.VSelect(v_model_number=("case_number",), items=("cases",), label="Sample", id="case")
        v.VProgressLinear(indeterminate=True, v_if="busy", color="primary")
        v.VSelect(v_if="fields.length", v_model=("field_name",), items=("fields",), label="Field", classes="mt-3")
        v.VSelect(
            v_if="components.length > 1",
            v_model=("component",),
            items=("components",),
            label="Component",
            classes="mt-3",
        )
        with html.Div(v_if="steps > 1", classes="number"):
            html.Div("Step {{ step }} of {{ steps }}", classes="note")
            v.VSlider(v_model_number=("step",), min=1, max=("steps",), step=1)


def _numbers(page: Page, html: Any, v: Any) -> None:
    change = "numbers[index] = $event; flushState('numbers');"
    typed = "numbers[index] = Number($event.target.value); flushState('numbers');"
    with html.Div(classes="section", v_if="controls.length"):
        with html.Div(style="display: flex; justify-content: space-between; align-items: center;"):
            html.Div("Numbers", classes="head")
            v.VBtn("Reset", id="reset", click=page.reset, disabled=("!is_changed",), title="the numbers of the file")
        with html.Div(v_for="(control, index) in controls", key="control.name", classes="number"):
            with html.Div(classes="top"):
                html.Span("{{ control.name }}", title=("control.name",))
                html.Input(
                    v_if="control.kind != 'choice'",
                    type="text",
                    value=("Number(Number(numbers[index]).toPrecision(4))",),
                    change=typed,
                    id=("'number-' + control.name",),
                )
            v.VSelect(
                v_if="control.kind == 'choice'",
                model_value=("numbers[index]",),
                update_modelValue=change,
                items=("control.choices",),
                id=("'choice-' + control.name",),
            )
            v.VSlider(
                v_if="control.kind == 'slider'",
                model_value=("numbers[index]",),
                update_modelValue=change,
                min=("control.low",),
                max=("control.high",),
                step=("control.step",),
                id=("'slider-' + control.name",),
            )
            with html.Div(v_if="control.kind == 'slider'", classes="range", title="the range of the training"):
                html.Div(style=("{ left: control.left + '%', width: control.width + '%' }",))
            html.Div("{{ control.note }}", classes=("['note', control.outside ? 'far' : '']",))


def _look(page: Page, html: Any, v: Any) -> None:
    with html.Div(classes="section"):
        with html.Div(style="display: flex; justify-content: space-between; align-items: center;"):
            html.Div("View", classes="head")
            v.VBtn("Fit", id="fit", click=page.fit, title="see the whole mesh")
        v.VSwitch(v_model=("edges",), label="Edges of cells")
        v.VSwitch(v_model=("hold",), label="Keep the colour range")
        v.VSwitch(v_model=("clip_on",), label="Clip plane", id="clip")
        with html.Div(v_if="clip_on"):
            with html.Div(style="display: flex; gap: 12px; align-items: center;", classes="mb-2"):
                with v.VBtnToggle(v_model=("clip_axis",), mandatory=True, density="compact", divided=True):
                    v.VBtn("{{ axis }}", v_for="(axis, number) in axes", key="axis", value=("number",))
                v.VSwitch(v_model=("clip_flipped",), label="Other side")
            v.VSlider(v_model_number=("clip_share",), min=0, max=1, step=0.01, id="clip-share")


def _drawing(page: Page, html: Any, server: Any) -> None:
    from trame.widgets import vtk

    mouse = [{"button": 1, "action": "Rotate"}, {"button": 1, "shift": True, "action": "Pan"}]
    if page.session.table.dimension < 3:
        mouse = [{"button": 1, "action": "Pan"}]
    mouse += [
        {"button": 2, "action": "Pan"},
        {"button": 3, "action": "Zoom", "scrollEnabled": True},
    ]
    server.state.drawn = 0
    server.state.client_only("drawn")
    with html.Div(classes="drawing", id="drawing", raw_attrs=[':data-drawn="drawn"']):
        view = vtk.VtkLocalView(
            page.scene.window,
            ref="drawing",
            interactor_settings=("mouse", mouse),
            interactor_events=("mouse_events", ["LeftButtonPress", "LeftButtonRelease", "EndMouseWheel"]),
            LeftButtonPress=(page.press, f"[{PIXEL}]"),
            LeftButtonRelease=(
                page.release,
                f"[{PIXEL}, {RAY.format(f'{PIXEL}, 0')}, {RAY.format(f'{PIXEL}, 1')}]",
            ),
            EndMouseWheel=page.zoomed,
            resize=(page.resized, "[utils.get('innerWidth'), utils.get('innerHeight')]"),
            after_scene_loaded="drawn = drawn + 1",
        )
        with html.Div(classes="panels"):
            html.Div("{{ panel }}", v_for="panel in panels", key="panel")
    page.push = view.update
    page.push_camera = lambda camera, center: view.push_camera(camera=camera, center_of_rotation=center)


def _legends(html: Any) -> None:
    with (
        html.Div(classes="legends", v_if="legends.length"),
        html.Div(v_for="legend in legends", key="legend.label", style=("{ flex: legend.panels }",)),
    ):
        with html.Div(classes="name"):
            html.Span("{{ legend.label }}", style="color: inherit;")
            html.Span(" from {{ legend.least }} to {{ legend.most }}")
        html.Div(classes=("['bar', legend.map]",))
        with html.Div(classes="ticks"):
            html.Span("{{ tick }}", v_for="(tick, place) in legend.ticks", key="place")


def _tables(html: Any) -> None:
    with html.Div(classes="tables"):
        with html.Div(id="rows"):
            _table(html, "rows", "'Largest values and numbers'")
        with html.Div(id="probe"):
            _table(html, "probe.rows", "probe.where", v_if="probe")
            html.Div("Click on the mesh to read values at a point.", v_if="!probe", classes="hint mt-2")


def _table(html: Any, rows: str, head: str, **options: Any) -> None:
    with html.Table(classes="own", **options):
        with html.Thead(), html.Tr():
            html.Th(f"{{{{ {head} }}}}")
            for name in ("prediction", "truth", "error"):
                html.Th(name)
        with html.Tbody(), html.Tr(v_for=f"row in {rows}", key="row.name"):
            for name in ("name", "prediction", "truth", "error"):
                html.Td(f"{{{{ row.{name} }}}}")
