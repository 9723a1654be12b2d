"""Writes jinja2's output for each template into cases.json, with transformers' set-up for chat templates.

    python3 oracle.py          rewrites the file; needs jinja2
    python3 oracle.py --check  fails if the file is stale
"""

import json
import pathlib
import sys
from datetime import datetime

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock
from jinja2.sandbox import ImmutableSandboxedEnvironment

FILE = pathlib.Path(__file__).with_name('cases.json')
NOW = datetime(2025, 8, 3, 14, 5, 9)


class Generation(Extension):
    tags = {'generation'}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(['name:endgeneration'], drop_needle=True)
        return CallBlock(self.call_method('_call'), [], [], body).set_lineno(line)

    def _call(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters['tojson'] = tojson
    env.globals['raise_exception'] = raise_exception
    env.globals['strftime_now'] = lambda format: NOW.strftime(format)
    return env


def expectation(template, variables):
    try:
        return {'template': template, 'expected': environment().from_string(template).render(**variables)}
    except Exception:
        return {'template': template, 'fails': True}


def main():
    data = json.loads(FILE.read_text())
    made = [expectation(case['template'], data['variables']) for case in data['cases']]
    if '--check' not in sys.argv:
        text = json.dumps({'variables': data['variables'], 'cases': made}, ensure_ascii=False, indent=2)
        FILE.write_text(text + '\n')
    elif made != data['cases']:
        sys.exit('\n'.join(f'{new} instead of {old}' for new, old in zip(made, data['cases']) if new != old))


main()
