"""The report of one run as one page that needs no network."""

from __future__ import annotations

from analyzer.render.html.page import render_html

__all__ = ["render_html"]
