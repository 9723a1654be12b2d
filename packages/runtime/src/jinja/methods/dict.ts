import { type Builtin, define, madeList, or } from '../define.js';
import { TemplateFailure } from '../error.js';
import { type Dict, Tuple, type Value } from '../value.js';

const changing: Builtin<Value, Dict> = () => {
  throw new TemplateFailure('a dict cannot be changed in templates');
};

/** The methods of Python's dict. */
export const dictMethods: Readonly<Record<string, Builtin<Value, Dict>>> = {
  items: define('', (context, dict: Dict) =>
    madeList(
      context,
      dict.pairs().map((pair) => new Tuple(pair)),
    ),
  ),
  keys: define('', (context, dict: Dict) =>
    madeList(
      context,
      dict.pairs().map(([key]) => key),
    ),
  ),
  values: define('', (context, dict: Dict) =>
    madeList(
      context,
      dict.pairs().map(([, value]) => value),
    ),
  ),
  get: define('key default', (_, dict: Dict, key, fallback) =>
    or(dict.get(or(key, null)), or(fallback, null)),
  ),
  copy: define('', (_, dict: Dict) => dict),
  clear: changing,
  pop: changing,
  popitem: changing,
  setdefault: changing,
  update: changing,
};
