"""Changes the rules, one place at a time, and shows which check notices. Usage: mutants.py [mutants] [seed]

A mutant is made by a rule: a comparison turned, a condition of `and` or `or` dropped, a condition turned, a statement left out, True and False or a
difference of 1 exchanged. The places are drawn from rules.py and devices.py. Survivors are printed with their line.
"""
import ast
import copy
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CHECKS = [("scenarios", ["scenarios.py"]), ("exhaustive", ["exhaustive.py", "3"]), ("histories", ["histories.py", "0", "1500"])]
TURNED = {ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
          ast.In: ast.NotIn, ast.NotIn: ast.In}


def changes(node):
    """The ways to change one node: (description, function that changes it)."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in TURNED:
        yield "comparison turned", lambda n: n.ops.__setitem__(0, TURNED[type(n.ops[0])]())
    if isinstance(node, ast.BoolOp):
        for i in range(len(node.values)):
            yield f"condition {i + 1} dropped", lambda n, i=i: n.values.pop(i)
    if isinstance(node, (ast.If, ast.IfExp)):
        yield "condition turned", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    if isinstance(node, ast.Constant) and node.value in (True, False, 1) and not isinstance(node.value, str):
        yield "constant exchanged", lambda n: setattr(n, "value", not n.value if isinstance(n.value, bool) else 0)
    body = getattr(node, "body", None)
    for i, statement in enumerate(body if isinstance(body, list) else ()):
        if isinstance(statement, (ast.AugAssign, ast.Expr, ast.Assign)) and not isinstance(getattr(statement, "value", None), ast.Constant):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if target is None or isinstance(target, (ast.Subscript, ast.Attribute)):
                yield f"left out: {ast.unparse(statement)[:60]}", lambda n, i=i: n.body.__setitem__(i, ast.Pass())


def mutants(name):
    tree = ast.parse((HERE / name).read_text())
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name not in ("__init__", "difference")]
    for function in functions:
        for position, node in enumerate(ast.walk(function)):
            for description, change in changes(node):
                other = copy.deepcopy(tree)
                same = next(n for n in ast.walk(other) if isinstance(n, ast.FunctionDef) and n.name == function.name and n.lineno == function.lineno)
                changed = list(ast.walk(same))[position]
                change(changed)
                yield f"{name}:{getattr(node, 'lineno', function.lineno)}:{getattr(node, 'col_offset', 0)} {function.name}: {description}", name, ast.unparse(ast.fix_missing_locations(other))


def killer(name, source):
    """The first check that fails on a mutant, or None."""
    with tempfile.TemporaryDirectory() as folder:
        for file in HERE.glob("*.py"):
            shutil.copy(file, folder)
        (Path(folder) / name).write_text(source)
        for check, arguments in CHECKS:
            try:
                if subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, timeout=120).returncode:
                    return check
            except subprocess.TimeoutExpired:
                return f"{check} (does not end)"
    return None


def main(count, seed):
    found = [m for name in ("rules.py", "devices.py") for m in mutants(name)]
    drawn, killed = sorted(random.Random(seed).sample(found, min(count, len(found)))), 0
    for description, name, source in drawn:
        by = killer(name, source)
        killed += by is not None
        print(f"{by or 'SURVIVES':12} {description}", flush=True)
    print(f"{len(found)} mutants, {len(drawn)} tried, {killed} found")


if __name__ == "__main__":
    arguments = [int(a) for a in sys.argv[1:]]
    main(*(arguments + [30, 1][len(arguments):]))
