#!/usr/bin/env python3
"""Writes tests/data/jinja.json: templates, and what transformers renders of them.

    tests/oracle/jinja_cases.py > tests/data/jinja.json

Needs transformers 5 with jinja2 3.1.6. Every case is rendered with the variables
below at the moment NOW; a case that fails has an error instead of a text, and the
message where the template raised it itself.
"""
import datetime
import json

from transformers.utils.chat_template_utils import _compile_jinja_template

NOW = datetime.datetime(2024, 2, 29, 7, 5, 9)
VARIABLES = {
    "s": "Hello World", "u": "Zürich ß ﬁ İ ΑΣ", "n": None, "t": True, "i": 7,
    "x": 1.5, "ws": " \t a  b\n\u00a0", "q": "it's \"q\" \\ \n \x01 \x7f \u2028 😀",
    "html": "<b>&'\"x</b>", "L": [3, 1, 2], "LS": ["b", "A", "c", "a"],
    "D": {"b": 1, "a": "two", "items": [1], "C": {"d": {"e": 5}}}, "E": {},
    "floats": [0.1, 1e22, 1e16, 1e15, 123456789.125, 1e-05, 0.0001, -0.0, 5e-324, 100.0],
    "multi": "l1\nl2\r\nl3\n\nl5", "num": " 42 ",
    "messages": [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Q <1>"},
        {"role": "assistant", "content": None,
         "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1, "y": [1, 2]}}}]},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image"}]},
    ],
    "tools": None, "set_later": "given",
}

CASES = r"""
{{ s }}|{{ n }}|{{ t }}|{{ i }}|{{ x }}|{{ L }}|{{ D }}|{{ nothing }}|{{ floats }}
{{ q }}{{ [q] }}{{ ["'", '"', "'\""] }}{{ {1: 2.0, true: none, 'k': (1,)} }}{{ () }}{{ 1, 2 }}
{{ floats|tojson }}{{ q|tojson }}{{ q|tojson(ensure_ascii=true) }}{{ D|tojson(indent=2) }}{{ E|tojson(indent=2) }}
{{ D|tojson(separators=(',', ':')) }}{{ D|tojson(sort_keys=true) }}{{ [1,[2]]|tojson(indent=1) }}{{ u|tojson }}
{{ nothing|tojson }}
{{ messages|selectattr('role')|tojson }}
{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ true + 1 }} {{ 1_000 }} {{ 0x1F }}
{{ 1 / 0 }}
{{ 'a' * 3 }}{{ [1] * 2 }}{{ [1] + [2] }}{{ 'a' ~ 1 ~ none ~ nothing ~ [1] }}{{ '%s-%5.2f|%-4d|%04d|%x|%r' % ('a', 1.5, 7, 42, 255, 'q') }}
{{ s + n }}
{{ s + nothing }}
{{ s + 1 }}
{{ 1 < 2 < 3 }}{{ 1 < 2 > 3 }}{{ 'a' in s }}{{ 'World' in s }}{{ 3 in L }}{{ 'b' in D }}{{ 1 not in L }}{{ [1, 2] < [1, 3] }}{{ 'a' < 'B' }}
{{ 1 < 'a' }}
{{ 1 in 'a' }}
{{ 1 == 1.0 }}{{ true == 1 }}{{ nothing == other }}{{ none == nothing }}{{ [1] == [1.0] }}{{ {'a': 1} == {'a': true} }}
{{ s[0] }}{{ s[-1] }}{{ s[2:5] }}{{ s[::-1] }}{{ s[-100:100:2] }}{{ L[1:] }}{{ L[::-2] }}{{ u[7] }}{{ u[::-1] }}{{ L[9] }}{{ L['a'] }}
{{ n[1:] }}
{{ nothing.a }}
{{ nothing['a'] }}
{{ D.a }}{{ D['a'] }}{{ D.items is callable }}
{{ D['items'] }}{{ D.items()|list }}{{ D.get('z', 1) }}{{ D.get('z') }}{{ D.C.d.e }}{{ D.keys() }}{{ D.values()|list }}{{ D.missing is defined }}
{{ D.append }}{{ L.append }}{{ L.append is defined }}{{ s.__class__ }}
{{ L.append(1) }}
{{ D.update({}) }}
{{ s.__class__.__mro__ }}
{{ s.upper() }}{{ u.upper() }}|{{ u.lower() }}|{{ u.title() }}|{{ u.capitalize() }}|{{ u.swapcase() }}|{{ u|title }}|{{ 'ab-cd (ef' | title }}
{{ ws.strip() }}|{{ ws.lstrip() }}|{{ ws.rstrip() }}|{{ ws|trim }}|{{ s.strip('Hd') }}|{{ s.rstrip('dlr') }}|{{ none|trim }}|{{ L|trim }}
{{ ws.split() }}{{ s.split('o') }}{{ s.split('o', 1) }}{{ s.rsplit('o', 1) }}{{ ' a  b '.split(none, 1) }}{{ ' a  b '.rsplit(none, 1) }}{{ 'a,,b'.split(',') }}{{ multi.splitlines() }}
{{ s.split('') }}
{{ s.startswith('He') }}{{ s.startswith(('x', 'H')) }}{{ s.endswith('d') }}{{ s.find('o') }}{{ s.rfind('o') }}{{ s.find('z') }}{{ s.count('l') }}{{ u.find('ß') }}
{{ s.index('z') }}
{{ s.replace('l', 'L') }}{{ s.replace('l', 'L', 2) }}{{ 'abc'.replace('', '-') }}{{ s|replace('o', 0) }}{{ ','.join(LS) }}{{ s.partition(' ') }}
{{ 'ab'.center(5) }}|{{ 'ab'.center(6) }}|{{ 'abc'.center(6, '*') }}|{{ 'ab'.ljust(4) }}|{{ 'ab'.rjust(4, '0') }}|{{ '-5'.zfill(4) }}|{{ 'a\tb'.expandtabs(4) }}
{{ 'unhappy'.removeprefix('un') }}{{ '5'.isdigit() }}{{ 'a1'.isalnum() }}{{ ' '.isspace() }}{{ 'Aa'.istitle() }}{{ u.islower() }}
{{ '{} {1}'.format(1, 2) }}
{{ '{} {}'.format(1, 'a') }}{{ '{0}{0}'.format('x') }}{{ '{a:>5}|{b:05.1f}|{c:,}|{d!r:^7}'.format(a='x', b=2.25, c=1234567, d='y') }}{{ '{{}}'.format() }}{{ '{0[a]}{0.b}'.format(D) }}
{{ L|length }}{{ s|length }}{{ u|length }}{{ D|length }}{{ nothing|length }}{{ L|first }}{{ L|last }}{{ L|sum }}{{ L|min }}{{ L|max }}{{ []|first }}{{ L|sort }}{{ LS|sort }}{{ LS|sort(case_sensitive=true) }}{{ LS|sort(reverse=true) }}
{{ n|length }}
{{ n|first }}
{{ ['a', 'A', 'b']|unique|list }}{{ L|reverse|list }}{{ s|reverse }}{{ LS|join }}{{ L|join(', ') }}{{ messages|join('/', attribute='role') }}{{ D|dictsort }}{{ D|items|list }}{{ nothing|items|list }}
{{ n|items|list }}
{{ messages|map(attribute='role')|list }}{{ LS|map('upper')|join }}{{ messages|selectattr('role', 'equalto', 'user')|list|length }}{{ messages|rejectattr('tool_calls', 'defined')|map(attribute='role')|list }}{{ L|select('odd')|list }}{{ L|reject('gt', 1)|list }}
{{ messages|groupby('role')|map('first')|list }}{{ L|batch(2)|list }}{{ L|slice(2, 0)|list }}{{ messages|map(attribute='x', default='-')|join }}
{{ nothing|default('d') }}{{ none|default('d') }}{{ none|default('d', true) }}{{ ''|d('e', true) }}{{ num|int }}{{ '3.9'|int }}{{ 'x'|int(5) }}{{ 'ff'|int(0, 16) }}{{ '2.5'|float }}{{ -3|abs }}{{ 2.5|round }}{{ 2.675|round(2) }}{{ 2.1|round(0, 'ceil') }}{{ 42|round }}
{{ multi|indent }}|{{ multi|indent(2, true) }}|{{ multi|indent('> ', blank=true) }}|{{ 'one two three'|truncate(9) }}|{{ 'one two three'|truncate(9, true, leeway=0) }}|{{ s|wordcount }}
{{ html|safe }}{{ html|e }}{{ (html|safe) + html }}{{ html + ('x'|safe) }}{{ (html|safe) ~ html }}{{ (html|safe)|upper }}{{ [html|safe] }}{{ html|safe is escaped }}
{{ 'a' is string }}{{ 1 is number }}{{ true is number }}{{ true is integer }}{{ 1.0 is float }}{{ L is sequence }}{{ D is mapping }}{{ s is iterable }}{{ s is sequence }}{{ n is none }}{{ t is true }}{{ 3 is odd }}{{ 4 is divisibleby 2 }}{{ i is not defined }}{{ 'a' is in ['a'] }}{{ 1 is sameas 1 }}{{ s is upper }}{{ range is callable }}
{{ 'x' if t }}{{ 'x' if n }}{{ 'x' if n else 'y' }}{{ n or 'o' }}{{ s and 0 }}{{ not n }}{{ (1 if n) is defined }}
{{ 'a' 'b' "c" }}{{ 'tab\t\x41\u00e9\101\q' }}{{ (1, 2)[1] }}{{ [[1, 2], [3]][0][1] }}{{ {'a': {'b': 1}}.a.b }}{{ L.1 }}
{% for a in L %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.previtem }}{{ loop.nextitem }};{% else %}no{% endfor %}
{% for a in [] %}{% else %}no{% endfor %}{% for a in nothing %}x{% else %}no{% endfor %}{% for k, v in D.items() %}{{ k }}={{ v }};{% endfor %}{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in L %}{% endfor %}
{% for a in L %}{{ a }}{% break %}{% else %}else{% endfor %}{% for a in L %}{% if loop.last %}{% continue %}{% endif %}{% else %}no{% endfor %}
{{ '%*d' % (true, 1) }}{% for a, b in [[1, 2], [3, 4]] if a %}{{ loop.previtem }}{% endfor %}{{ html|e|unique|list }}
{{ '%c' % true }}{{ '%c' % 'é' }}
{% for a in L if a != 1 %}{{ a }}{{ loop.index }}{{ loop.length }}{% endfor %}{% for a in L %}{% if a == 1 %}{% continue %}{% endif %}{{ a }}{% if a == 2 %}{% break %}{% endif %}{% endfor %}
{% for a in L %}{% for b in 'xy' %}{{ loop.index }}{{ b }}{% endfor %}{{ loop.index }}{{ loop.cycle('p', 'q') }}{{ loop.changed(a > 1) }}{% endfor %}
{% for a in [1, [2, [3]]] recursive %}{{ a if a is number else loop(a) }}{{ loop.depth }}{% endfor %}
{% set z = 1 %}{% for a in L %}{% set z = z + a %}{{ z }}{% endfor %}{{ z }}{% set ns = namespace(z=1) %}{% for a in L %}{% set ns.z = ns.z + a %}{% endfor %}{{ ns.z }}{{ ns.none }}
{% set ns = namespace() %}{% set ns._x = 1 %}
{% set D.x = 1 %}
{{ set_later }}{% if n %}{% set set_later = 1 %}{% endif %}{{ set_later }}{% for a in [1] %}{{ set_later }}{% endfor %}
{% for a in [1] %}{{ set_later }}{% endfor %}{% set set_later = 1 %}{% macro m() %}{{ set_later }}{% endmacro %}{{ m() }}{% set set_later = 2 %}{{ m() }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set z %}x{{ a }}{% endset %}{{ z }}{% set z | upper | trim %} y {% endset %}{{ z }}{% with a = 5, c = a %}{{ a }}{{ c }}{% endwith %}{{ a }}
{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(b=1, a=0) }}{{ m() }}{{ m.name }}{{ m.arguments }}
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{% endmacro %}{{ m(z=2) }}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, *L, a=2, **{'b': 3}) }}
{% macro m(k) %}{% if k %}{{ k }}{{ m(k - 1) }}{% endif %}{% endmacro %}{{ m(5) }}
{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}
{% macro m() %}<{{ caller('a') }}|{{ caller('b') }}>{% endmacro %}{% call(z) m() %}{{ z }}{{ s }}{% endcall %}
{% macro m() %}x{% endmacro %}{% call m() %}{% endcall %}
{% filter upper %}a{{ s }}{% endfilter %}{% filter replace('l', '1') | indent(1) %}l{{ '\n' }}l{% endfilter %}{% raw %}{{ x }}{% endraw %}{% print s, 1 %}
{% filter length %}abc{% endfilter %}
é{{ s }}{% generation %}a{{ u }}{% endgeneration %}b{% for a in L %}{% generation %}{{ a }}{% endgeneration %}{% endfor %}
{{ strftime_now('%Y-%m-%d %d %b %B %A %a %H:%M:%S %I %p %j %y %e %-d %U %W %V %G %u %w %%') }}
{{ range(3)|list }}{{ range(1, 4) }}{{ range(5, 0, -2)|list }}{{ dict(a=1, **{'b': 2}) }}{{ dict([('a', 1)]) }}{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('-') %}{{ j() }}{{ j() }}
{{ range(100001) }}
{{ raise_exception('The ' ~ s) }}
{{ nothing() }}
{{ s() }}
{% if t %}{{ s|unknown }}{% endif %}
{% if n %}{{ s|unknown }}{{ s is unknown }}{% endif %}fine
{% if n %}{% for a in L %}{{ s|unknown }}{% endfor %}{% endif %}
{{ s|unknown }}
{% if %}{% endif %}
{{ 'a }}
{{ (1 }}
{{ 1 ] }}
{% endfor %}
{% for a in L %}
{# open
{% break %}
{% unknown %}
{{ a b }}
""".strip("\n")


BLOCKS = [
    "{% if t %}\n  a\n  {%- if t %} b {% endif -%}  \n  c\n{% endif %}\nd\n"
    "   {% if t %}e{% endif %}   \n {#- x -#} f {# y #}\ng {{- ' h ' -}} i\n"
    "  {%+ if t +%}\nj{% endif %}\n{%- raw -%}  {% k %}  {%- endraw +%}\n",
    "{{ '}}' }}{{ {'a': {}}|length }}{% set z = '%}' %}{{ z }}{{- 1 }}{{ -1 }}\n\n",
    "{% for m in messages %}\n{{ m.role }}: {% if m.content is string %}"
    "{{ m.content }}\n{% elif m.content is none %}"
    "{{ m.tool_calls[0].function.arguments|tojson }}\n{% else %}\n"
    "  {% for p in m.content %}\n  [{{ p.type }}]\n  {% endfor %}\n{% endif %}\n"
    "{% endfor %}\n",
    "{{ \"a\nb\" }}\n{# a\n b #}\n  {# c #}\n  {#+ d #}\n{%+ raw %}\n x\n{% endraw %}\n y",
    "a\r\nb\r{% if t %}\r\nc{% endif %}\n\n",
    "\n{{ s }}\n",
    "",
    # names: what characters they may have
    *["{%% set %s = 3 %%}{{ %s }}" % (n, n) for n in (
        "e\u0301", "a\u00b7b", "a\u203fb", "\u2177", "\u00aa", "a\u0663", "x\u064c",
        "\u0301a", "\u064c", "\u00bda", "a\u00bd", "a\u00b2", "\u0663", "\u2192",
        "a\u0378", "a\u200d")],
]


def render(template):
    raised = []

    def raise_exception(message):
        raised.append(message)
        raise ValueError(message)

    try:
        compiled = _compile_jinja_template(template)
        compiled.globals["strftime_now"] = NOW.strftime
        compiled.globals["raise_exception"] = raise_exception
        blocks, spans = [], []
        with compiled.environment.activate_tracker(blocks, spans):
            for block in compiled.generate(**json.loads(json.dumps(VARIABLES))):
                blocks.append(block)
        return {"text": "".join(blocks), "spans": spans}
    except Exception as e:  # any of Python's or jinja2's
        if raised:
            return {"raised": raised[0]}
        return {"error": type(e).__name__}


rows = [{"template": t, **render(t)} for t in CASES.split("\n") + BLOCKS]
print(json.dumps({"now": NOW.isoformat(), "variables": VARIABLES, "cases": rows}, indent=0))
