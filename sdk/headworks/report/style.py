"""The look that all pages share: colours in light and dark, headings, and tables that scroll within the page."""

BASE = """:root { color-scheme: light dark; --ink: #1d2733; --soft: #556473; --paper: #fcfcfa;
  --card: #ffffff; --line: #cfd6dd;
  --good: #2f7d4f; --bad: #b3453f; --mind: #9a6a00; --calm: #5f6e7d; --mark: #2f6f9f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ee; --soft: #a9b5c0; --paper: #14181d; --card: #1c2229; --line: #3d4853;
    --good: #6cc48f; --bad: #f08a83; --mind: #e0b050; --calm: #93a1ae; --mark: #7db8e8; }
}
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 1180px; padding: 0 1rem 3rem; }
h1 { font-size: 1.35rem; margin: 1rem 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
p { margin: .3rem 0; max-width: 60rem; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding: .2rem 0; }
th, td { padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
"""
