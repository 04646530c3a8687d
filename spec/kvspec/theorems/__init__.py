from kvspec.theorems import arithmetic, copying, guards, wrong_guards
OBLIGATIONS = arithmetic.OBLIGATIONS + guards.OBLIGATIONS + wrong_guards.OBLIGATIONS + copying.OBLIGATIONS
