"""Problems that ask for values, each with values that fulfil it and values that do not, computed by hand."""

from __future__ import annotations

from typing import Any

Variables = dict[str, Any]
ABC: Variables = {"a": "Int", "b": "Int", "c": "Int"}
REALS: Variables = {"r": "Real", "s": "Real"}
BYTES: Variables = {"x": 8, "y": 8}
VALUES: list[tuple[Variables, list[str], str, str]] = [
    (ABC, ["(distinct a b c)", "(< 0 a 4)", "(< 0 b 4)", "(< 0 c 4)"], "a=1 b=3 c=2", "a=1 b=3 c=1"),
    (ABC, ["(< 0 a b c 4)"], "a=1 b=2 c=3", "a=1 b=3 c=2"),
    (ABC, ["(<= 1 a b c)", "(>= 3 c b a)"], "a=1 b=1 c=3", "a=2 b=1 c=3"),
    (ABC, ["(= a b c)", "(> a 5)"], "a=6 b=6 c=6", "a=6 b=6 c=7"),
    (ABC, ["(= (* a b) 12)", "(= (+ a b c) 9)"], "a=3 b=4 c=2", "a=3 b=4 c=1"),
    (ABC, ["(= (+ (* a a) (* b b)) (* c c))", "(< 0 a b c)"], "a=3 b=4 c=5", "a=3 b=4 c=6"),
    (ABC, ["(= (* a b c) 30)", "(< 1 a b c)"], "a=2 b=3 c=5", "a=1 b=5 c=6"),
    (ABC, ["(= (mod a b) 3)", "(= (div a b) 2)", "(> b 0)"], "a=11 b=4 c=0", "a=12 b=4 c=0"),
    (ABC, ["(=> (> a 3) (> b 3) (> c 3))", "(= a 4)", "(= b 4)"], "a=4 b=4 c=4", "a=4 b=4 c=3"),
    (ABC, ["(=> (distinct b 0) (= (mod a b) 0))", "(= b 0)"], "a=7 b=0 c=0", "a=7 b=1 c=0"),
    (ABC, ["(= (mod a b) c)"], "a=7 b=4 c=3", "a=7 b=0 c=7"),
    (ABC, ["(= (- (* a b) (* b c)) 8)", "(distinct a b c)"], "a=5 b=2 c=1", "a=5 b=2 c=2"),
    (ABC, ["(> (* a a a) 100)", "(< a 6)"], "a=5 b=0 c=0", "a=4 b=0 c=0"),
    (ABC, ["(xor (> a 0) (> b 0) (> c 0))"], "a=1 b=1 c=1", "a=1 b=1 c=0"),
    (ABC, ["(= (ite (< a b) (* a b) (+ a b)) 6)", "(< a b c)"], "a=2 b=3 c=4", "a=1 b=5 c=6"),
    (REALS, ["(= (+ r s) 1)", "(= (- r s) 0.5)"], "r=0.75 s=0.25", "r=0.7 s=0.3"),
    (REALS, ["(= (* 3 r) 1)", "(> s r)"], "r=1/3 s=1", "r=0.333333333 s=1"),
    (REALS, ["(< 0.1 r 0.2)", "(= s (* r r))"], "r=0.15 s=0.0225", "r=0.15 s=0.0226"),
    (REALS, ["(= (/ r s) 2.5)", "(= s 4)"], "r=10 s=4", "r=10.5 s=4"),
    (REALS, ["(= r (/ 1 7))", "(= s (- r))"], "r=1/7 s=-1/7", "r=1/7 s=1/7"),
    (REALS, ["(= (* r r) (/ 4 9))", "(< r 0)"], "r=-2/3 s=0", "r=2/3 s=0"),
    (REALS, ["(> (/ 1 s) 2)", "(< r s)"], "r=0 s=0.25", "r=-1 s=0"),
    (REALS, ["(is_int (* 2 r))", "(not (is_int r))"], "r=0.5 s=0", "r=1.0 s=0"),
    (REALS, ["(= (to_int r) 2)", "(> r 2.5)"], "r=2.75 s=0", "r=3 s=0"),
    ({"a": "Int", "r": "Real"}, ["(= (to_real a) (* 2 r))", "(not (is_int r))"], "a=3 r=1.5", "a=4 r=2"),
    ({"a": "Int", "r": "Real"}, ["(< (to_real a) r (+ (to_real a) 0.5))", "(= a 2)"], "a=2 r=2.25", "a=2 r=2.5"),
    (BYTES, ["(= ((_ extract 7 4) x) #xa)", "(= ((_ extract 3 0) x) #x5)"], "x=#xa5 y=0", "x=#x5a y=0"),
    (BYTES, ["(= (concat ((_ extract 3 0) x) ((_ extract 7 4) x)) y)", "(= x #x3c)"], "x=#x3c y=#xc3", "x=#x3c y=#x3c"),
    (BYTES, ["(= (concat x y) #x1234)"], "x=#x12 y=#x34", "x=#x34 y=#x12"),
    (BYTES, ["(= ((_ zero_extend 8) x) #x00ff)"], "x=255 y=0", "x=254 y=0"),
    (BYTES, ["(= ((_ sign_extend 8) x) #xff80)"], "x=128 y=0", "x=127 y=0"),
    (BYTES, ["(distinct x y (bvadd x y))", "(bvult x y)"], "x=1 y=2", "x=0 y=2"),
    (BYTES, ["(= (bvmul x y) #x01)", "(bvugt x #x01)"], "x=3 y=171", "x=3 y=172"),
    (BYTES, ["(= (bvand x (bvsub x #x01)) #x00)", "(bvugt x #x40)"], "x=128 y=0", "x=96 y=0"),
    ({"p": "Bool", "q": "Bool"}, ["(xor p q)", "(=> p q)"], "p=false q=true", "p=true q=false"),
    ({"p": "Bool", "q": "Bool"}, ["(= p q true)"], "p=true q=true", "p=true q=false"),
    ({"a": "Int", "b": "Int"}, ["(= (+ (* 2 a) (* 3 b)) 12)", "(> a b)"], "a=3 b=2", "a=0 b=4"),
    ({"a": "Int", "b": "Int"}, ["(= (abs (- a b)) 4)", "(= (mod a 5) 2)"], "a=7 b=3", "a=7 b=4"),
]
"""The variables, the terms, values that fulfil them, and values that do not."""
