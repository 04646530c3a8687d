"""The specification written out in ordinary mathematics: docs/model.md, from the functions that are proved.

- `formulas`, `simplify`: formulas as trees, with their text; how they are put together and shortened;
- `maths`: the third side of `kvspec.algebra`: rules and laws run on formulas;
- `memory`, `rewriting`: columns as functions, and states made of them; changing a formula all over;
- `steps`: what a micro-step requires and does;
- `conjuncts`, `claims`: what invariants and obligations say;
- `shorthand`, `families`: names for what would be read again and again; theorems that differ in one word;
- `words`, `life`, `limits`: what no function can say, as data;
- `example`: a state that the micro-steps made of plain numbers, drawn;
- `docstrings`, `markdown`: reading docstrings, writing Markdown;
- `describing`, `proving`, `page`: the sections about the model, those about what is proved, and the page.

Nothing here judges or proves, and no formula is written by hand.
"""
