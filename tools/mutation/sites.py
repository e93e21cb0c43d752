"""The places of the core at which one thing can be wrong, and the code in which it is, wherever a trigger says so.

Six kinds: another comparison, the boundary on the other side, a constant one off, a statement dropped, a condition the
other way round, the other end of a collection. The source is read, one place is rewritten, and the result is compiled:

    if held >= count: ...    becomes    if MUTANT.differ(lambda: held >= count, lambda: held > count): ...

An *occasion* is when right and wrong differ: of a condition as a whole, of the value of an expression. What changes
something is evaluated once, as right or as wrong, and is always an occasion. Only bodies of functions are rewritten:
their code can be put into a broker that is already loaded.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import CodeType

from tools.mutation.source import CORE, Functions, codes, parsed

MUTANT = "_mutant_"
"""What the global is called that rewritten code asks."""

OTHER: dict[type[ast.cmpop], tuple[type[ast.cmpop], str]] = {
    ast.Eq: (ast.NotEq, "!="),
    ast.NotEq: (ast.Eq, "=="),
    ast.Is: (ast.IsNot, "is not"),
    ast.IsNot: (ast.Is, "is"),
    ast.In: (ast.NotIn, "not in"),
    ast.NotIn: (ast.In, "in"),
    ast.Lt: (ast.LtE, "<="),
    ast.LtE: (ast.Lt, "<"),
    ast.Gt: (ast.GtE, ">="),
    ast.GtE: (ast.Gt, ">"),
}
BOUNDARIES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
OPPOSITE = {"min": "max", "max": "min"}
PURE = frozenset(
    {
        "all",
        "announces",
        "announces_cancel",
        "any",
        "awaits",
        "bool",
        "bound_together",
        "by_password",
        "canonical",
        "compare_digest",
        "counts",
        "escape",
        "exchange",
        "excludes",
        "find",
        "fits",
        "found_its_way",
        "full",
        "fullmatch",
        "get",
        "getattr",
        "goes_in_circles",
        "grants",
        "headers_match",
        "id",
        "ignored",
        "impersonates",
        "index",
        "int",
        "is_bound",
        "isfinite",
        "isinstance",
        "items",
        "kind_of",
        "known",
        "knows",
        "lasts",
        "len",
        "lookup",
        "max",
        "may_come",
        "min",
        "namesake",
        "no_number",
        "offered",
        "out",
        "outlives",
        "over_limit",
        "reached",
        "refuses",
        "replace",
        "_returned_first",
        "rights",
        "search",
        "startswith",
        "str",
        "sum",
        "tolerates",
        "type",
        "values",
        "watches",
        "whole",
    }
)
"""Functions and methods of the core that change nothing."""


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
        self.inside = self.hit = False

    def offer(self, kind: str, node: ast.expr | ast.stmt, says: str) -> bool:
        """Notes a place. Is it the one that is wanted?"""
        place = f"{node.col_offset}-{node.end_lineno}:{node.end_col_offset}"
        line = " ".join(says.split())
        one = Mutation(self.module, self.function, node.lineno, place, kind, self.statement, line)
        self.found.append(one)
        return one == self.wanted

    # -- expressions

    def instead(self, kind: str, node: ast.expr, says: str, wrong: ast.expr) -> ast.expr:
        """The expression; or, where it is the wanted place, either of the two. A part of a condition is just wrong: the
        condition as a whole is then one of two."""
        if not self.offer(kind, node, says):
            return node
        self.hit = self.inside
        return wrong if self.inside else either(wrong, node)

    def whole(self, node: ast.BoolOp, each: Callable[[ast.expr], ast.AST]) -> ast.expr:
        """A condition of several parts: what counts is whether it differs as a whole."""
        outermost = not self.inside and pure(node)
        honest = copy.deepcopy(node) if outermost else node
        self.inside = self.inside or outermost
        node.values = [_expression(each(part)) for part in node.values]
        if not outermost:
            return node
        self.inside, hit, self.hit = False, self.hit, False
        return either(node, honest) if hit else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return self.whole(node, self.visit)

    def condition(self, test: ast.expr) -> ast.expr:
        """The other way round, or one of its parts; a comparison has its places already."""
        if isinstance(test, ast.BoolOp):
            return self.whole(test, self.condition)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self.condition(test.operand)
            return test
        told = ast.unparse(test)
        seen = _expression(self.visit(test))
        if isinstance(test, ast.Compare):
            return seen
        return self.instead("condition", seen, f"`{told}` the other way round", ast.UnaryOp(ast.Not(), seen))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        told = ast.unparse(node)
        node.left = _expression(self.visit(node.left))
        node.comparators = [each if _number(each) else _expression(self.visit(each)) for each in node.comparators]
        if len(node.ops) != 1:
            return node
        right, sign = node.comparators[0], type(node.ops[0])
        if _number(right):
            higher = ast.Compare(node.left, node.ops, [ast.Constant(ast.literal_eval(right) + 1)])
            off = self.instead("constant", node, f"`{told}` with the number one higher", higher)
            if off is not node:
                return off
        wrong, shown = OTHER[sign]
        kind = "boundary" if sign in BOUNDARIES else "comparison"
        return self.instead(kind, node, f"`{told}` with `{shown}`", ast.Compare(node.left, [wrong()], [right]))

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, int):
            return node
        wrong = not node.value if isinstance(node.value, bool) else node.value + 1
        return self.instead("constant", node, f"`{node.value}` as `{wrong}`", ast.Constant(wrong))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.condition(node.test)
        node.body, node.orelse = _expression(self.visit(node.body)), _expression(self.visit(node.orelse))
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = _expression(self.visit(node.iter))
        node.ifs = [self.condition(each) for each in node.ifs]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        told = f"`{ast.unparse(node)}` at the other end"
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in OPPOSITE and node.args:
            opposite = ast.Name(OPPOSITE[node.func.id], ast.Load())
            return self.instead("other end", node, told, ast.Call(opposite, node.args, node.keywords))
        if not isinstance(node.func, ast.Attribute | ast.Name) or (found := other_end(node, node.func)) is None:
            return node
        things, wrong, least = found
        if not self.offer("other end", node, told):
            return node
        return ast.IfExp(asks("fires_among", things, ast.Constant(least)), wrong, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        told = ast.unparse(node)
        node.value = _expression(self.visit(node.value))
        if not isinstance(node.ctx, ast.Load) or not _number(node.slice):
            return node
        end = -1 - ast.literal_eval(node.slice)
        if end not in (0, -1):
            return node
        wrong = ast.Subscript(node.value, ast.Constant(end), ast.Load())
        return self.instead("other end", node, f"`{told}` at the other end", wrong)

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
        return ast.If(honest, [node], []) if self.offer("dropped", node, f"`{told}` is left out") else node


def other_end(node: ast.Call, called: ast.Attribute | ast.Name) -> tuple[ast.expr, ast.expr, int] | None:
    """A collection, the same call at its other end, and the number of things up to which there is none."""
    if isinstance(called, ast.Name):
        one = called.id == "iter" and len(node.args) == 1
        return (node.args[0], ast.Call(ast.Name("reversed", ast.Load()), node.args, []), 1) if one else None
    if called.attr == "popleft":
        return called.value, ast.Call(ast.Attribute(called.value, "pop", ast.Load()), [], []), 1
    if called.attr == "append":
        insert = ast.Attribute(called.value, "insert", ast.Load())
        return called.value, ast.Call(insert, [ast.Constant(0), *node.args], []), 0
    return None


def asks(method: str, *arguments: ast.expr) -> ast.expr:
    """A call of the mutant."""
    return ast.Call(ast.Attribute(ast.Name(MUTANT, ast.Load()), method, ast.Load()), list(arguments), [])


def either(wrong: ast.expr, right: ast.expr) -> ast.expr:
    """One of the two. Where that may be done, both are looked at, and it is no occasion if they are the same."""
    if isinstance(right, ast.Constant) or not pure(right):
        return ast.IfExp(asks("fires"), wrong, right)
    return asks("differ", *(ast.Lambda(_NOTHING, each) for each in (right, wrong)))


_NOTHING = ast.arguments([], [], None, [], [], None, [])


def pure(node: ast.expr) -> bool:
    """Does it change nothing, so that it may be evaluated twice?"""
    calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    names = {
        each.attr if isinstance(each, ast.Attribute) else each.id if isinstance(each, ast.Name) else ""
        for each in calls
    }
    return names <= PURE and not any(isinstance(each, ast.NamedExpr) for each in ast.walk(node))


def _number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


def _expression(node: ast.AST) -> ast.expr:
    assert isinstance(node, ast.expr)
    return node
