"""The places of the core at which one thing can be wrong, and the code in which it is, wherever a trigger says so.

Six kinds: another comparison, the boundary on the other side, a constant one off, a statement dropped, a condition the
other way round, the other end of a collection. The source is read, one place is rewritten, and the result is compiled:

    if self.held >= self.count: ...    becomes    if MUTANT.compare(self.held, self.count, ">=", ">"): ...

Operands are evaluated once and in their order, whatever the trigger says; so a place whose trigger says no is as honest
as before. Only bodies of functions are rewritten: their code can be put into a broker that is already loaded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import CodeType

from tools.mutation.source import CORE, Functions, codes, parsed

MUTANT = "_mutant_"
"""What the global is called that rewritten code asks."""

Build = Callable[[], ast.AST]

SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}
OTHER = {"==": "!=", "is": "is not", "in": "not in", "<": "<=", ">": ">="}
OTHER |= {wrong: right for right, wrong in OTHER.items()}
BOUNDARIES = ("<", "<=", ">", ">=")
ENDS = {"popleft": "pop", "min": "max", "max": "min"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One place with one thing wrong. `statement` is the line of the statement that it is in."""

    module: str
    function: str
    line: int
    place: str
    kind: str
    statement: int
    says: str

    @property
    def key(self) -> str:
        return f"{self.module}.{self.function}:{self.line}:{self.place} {self.kind}"

    @property
    def at(self) -> tuple[str, str, int]:
        return self.module, self.function, self.statement


@cache
def mutations() -> tuple[Mutation, ...]:
    """All of the core, in the order of the source."""
    return tuple(found for module in CORE for found in _of(module))


def rewritten(mutation: Mutation) -> dict[str, CodeType]:
    """The code of the function that has this place, by its qualified name."""
    tree = parsed(mutation.module)
    _Mutator(mutation.module, mutation).visit(tree)
    return {mutation.function: codes(tree, mutation.module)[mutation.function]}


def _of(module: str) -> list[Mutation]:
    mutator = _Mutator(module)
    mutator.visit(parsed(module))
    return mutator.found


class _Mutator(Functions):
    """Notes every place, and rewrites the wanted one."""

    def __init__(self, module: str, wanted: Mutation | None = None) -> None:
        super().__init__()
        self.module, self.wanted = module, wanted
        self.found: list[Mutation] = []
        self.nested = 0

    def offer(self, kind: str, node: ast.expr | ast.stmt, says: str, build: Build) -> ast.AST:
        """The node, or what it becomes where this is the place that is wanted."""
        place = f"{node.col_offset}-{node.end_lineno}:{node.end_col_offset}"
        line = " ".join(says.split())
        one = Mutation(self.module, self.function, node.lineno, place, kind, self.statement, line)
        self.found.append(one)
        return ast.copy_location(build(), node) if one == self.wanted else node

    # -- expressions

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        shown = ast.unparse(node)
        self._operands(node)
        if len(node.ops) != 1:
            return node
        left, right, sign = node.left, node.comparators[0], SIGNS[type(node.ops[0])]
        kind = "boundary" if sign in BOUNDARIES else "comparison"

        def compared(wrong: str, off: int) -> Build:
            told = (ast.Constant(each) for each in (sign, wrong, off))
            return lambda: asks("compare", left, right, *told)

        if _number(right):
            off = self.offer("constant", node, f"`{shown}` with the number one higher", compared(sign, 1))
            if off is not node:
                return off
        return self.offer(kind, node, f"`{shown}` with `{OTHER[sign]}`", compared(OTHER[sign], 0))

    def _operands(self, node: ast.Compare) -> None:
        """What is compared may hold places of its own; a plain number has its place in the comparison."""
        node.left = _expression(self.visit(node.left))
        node.comparators = [
            each if _number(each) else _expression(self.visit(each)) for each in node.comparators
        ]

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, int):
            return node
        wrong = not node.value if isinstance(node.value, bool) else node.value + 1
        return self.offer("constant", node, f"`{node.value}` as `{wrong}`", lambda: either(ast.Constant(wrong), node))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.condition(node.test)
        node.body, node.orelse = _expression(self.visit(node.body)), _expression(self.visit(node.orelse))
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = _expression(self.visit(node.iter))
        node.ifs = [self.condition(each) for each in node.ifs]
        return node

    def condition(self, test: ast.expr) -> ast.expr:
        """As a whole the other way round, or one of its parts; a comparison has its places already."""
        if isinstance(test, ast.BoolOp):
            test.values = [self.condition(each) for each in test.values]
            return test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self.condition(test.operand)
            return test
        told = ast.unparse(test)
        seen = _expression(self.visit(test))
        if isinstance(test, ast.Compare):
            return seen
        return _expression(self.offer("condition", seen, f"`{told}` the other way round", lambda: asks("other", seen)))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        told = ast.unparse(node)
        self.generic_visit(node)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        wrong = _other_end(node, method, name)
        if wrong is None:
            return node
        return self.offer("other end", node, f"`{told}` at the other end", lambda: either(wrong, node))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        told = ast.unparse(node)
        node.value = _expression(self.visit(node.value))
        if not isinstance(node.ctx, ast.Load) or not _number(node.slice):
            return node
        if ast.literal_eval(node.slice) not in (0, -1):
            return node
        end = ast.Constant(-1 - ast.literal_eval(node.slice))
        wrong = ast.Subscript(node.value, end, ast.Load())
        return self.offer("other end", node, f"`{told}` at the other end", lambda: either(wrong, node))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """What is told to people is no decision."""
        return node

    # -- statements

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.condition(node.test)
        return self._nested(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = _expression(self.visit(node.iter))
        return self._nested(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        """A loop that does not end shows itself; comparisons in its condition are places all the same."""
        node.test = _expression(self.visit(node.test))
        return self._nested(node)

    def _nested(self, node: ast.If | ast.For | ast.While) -> ast.AST:
        self.nested += 1
        node.body, node.orelse = self.body(node.body), self.body(node.orelse)
        self.nested -= 1
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = _expression(self.visit(node.value))
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return self.dropped(node, isinstance(node.value, ast.Call))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        return self.dropped(node, True)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        made = all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets)
        return self.dropped(node, made and self.names[-1] != "__init__")

    def visit_Delete(self, node: ast.Delete) -> ast.AST:
        return self.dropped(node, True)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return self.dropped(node, True)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return self.dropped(node, bool(self.nested))

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return self.dropped(node, True)

    def dropped(self, node: ast.stmt, can_be: bool) -> ast.AST:
        told = ast.unparse(node)
        self.generic_visit(node)
        if not can_be:
            return node
        honest = ast.UnaryOp(ast.Not(), asks("fires"))
        return self.offer("dropped", node, f"`{told}` is left out", lambda: ast.If(honest, [node], []))


def _other_end(node: ast.Call, method: str, name: str) -> ast.expr | None:
    """The same call at the other end of what it is about."""
    if isinstance(node.func, ast.Attribute):
        if method in ENDS and not node.args:
            return ast.Call(ast.Attribute(node.func.value, ENDS[method], ast.Load()), [], [])
        if method == "append":
            insert = ast.Attribute(node.func.value, "insert", ast.Load())
            return ast.Call(insert, [ast.Constant(0), *node.args], [])
        return None
    if name in ENDS:
        return ast.Call(ast.Name(ENDS[name], ast.Load()), node.args, node.keywords)
    if name == "iter" and len(node.args) == 1:
        return ast.Call(ast.Name("reversed", ast.Load()), node.args, [])
    return None


def asks(method: str, *arguments: ast.expr) -> ast.expr:
    """A call of the mutant."""
    return ast.Call(ast.Attribute(ast.Name(MUTANT, ast.Load()), method, ast.Load()), list(arguments), [])


def either(wrong: ast.expr, right: ast.expr) -> ast.expr:
    return ast.IfExp(asks("fires"), wrong, right)


def _number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


def _expression(node: ast.AST) -> ast.expr:
    assert isinstance(node, ast.expr)
    return node
