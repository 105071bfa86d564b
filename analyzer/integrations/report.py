"""``python -m analyzer.integrations.report FOLDER``: the process that an ending run starts."""

from __future__ import annotations

import sys
from pathlib import Path

from analyzer import api
from analyzer.errors import InputError

BAD = frozenset({"failed", "degraded", "interrupted"})


def main() -> None:
    """Diagnose a folder and write report.html and brief.txt into it if the run ended badly; say so in two lines."""
    folder = Path(sys.argv[1])
    try:
        study = api.study(folder, offline=True)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(error.exit_code) from None
    found = study.diagnosis
    if found.status not in BAD and "--always" not in sys.argv:
        return
    from analyzer.render.brief import render_brief  # noqa: PLC0415  (a good end needs neither)
    from analyzer.render.html import render_html  # noqa: PLC0415

    (folder / "report.html").write_text(render_html(found, study.run), encoding="utf-8")
    (folder / "brief.txt").write_text(render_brief(found, study.run), encoding="utf-8")
    fixes = found.findings[0].fixes if found.findings else ()
    fix = f"; fix: {fixes[0].title}" if fixes else ""
    sys.stdout.write(f"analyzer: {found.status}: {found.summary}{fix}\nanalyzer: {folder / 'report.html'}\n")


if __name__ == "__main__":
    main()
