"""How questions are put to solvers: every solver is asked the same SMT-LIB text.

- `questions`: what an obligation asks, in parts;
- `formulas`, `writing`, `layout`: terms as plain formulas, those as expressions, and those as lines;
- `smtlib`: a question as one text;
- `solver`, `z3_solver`, `cvc5_solver`: who answers it; `interrupts`: how a person stops them;
- `asking`: one text put to several solvers, and what their answers come to;
- `plain`, `smallest`: examples evaluated without a solver, and made small.
"""
