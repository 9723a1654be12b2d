import { attribute, item } from './attributes.js';
import type { Budget } from './budget.js';
import { applyFilter, applyTest, explained } from './builtins.js';
import { TemplateFailure } from './error.js';
import { applyFilters, evaluate, evaluateArguments } from './evaluate.js';
import { Loop } from './loop.js';
import type { Block, Expression, ForNode, MacroBody, Statement, Target } from './nodes.js';
import { toText } from './print.js';
import { Scope } from './scope.js';
import { elements } from './sequence.js';
import { type Text, TextBuilder } from './text.js';
import type { Context } from './value.js';
import {
  type Arguments,
  Callable,
  Dict,
  found,
  Namespace,
  Tuple,
  text,
  truth,
  typeName,
  Undefined,
  type Value,
} from './value.js';

/** The end of a block: normal (undefined), or a jump within a loop. */
type End = 'break' | 'continue' | undefined;

/** Runs a parsed template once. */
export class Interpreter implements Context {
  private out = new TextBuilder();
  private capturing = 0;

  constructor(
    readonly budget: Budget,
    readonly now: Date,
  ) {}

  /** The rendered text. @throws TemplateFailure, TemplateRefusal, LimitReached */
  run(template: Block, scope: Scope): Text {
    this.block(template, scope);
    return this.out.text();
  }

  call(callee: Value, args: Arguments): Value {
    if (callee instanceof Undefined) return callee.fail();
    if (!(callee instanceof Callable))
      throw new TemplateFailure(`'${typeName(callee)}' object is not callable`);
    return explained(`${callee.name}()`, () => callee.call(this, args));
  }

  filter(name: string, input: Value, args: Arguments): Value {
    this.budget.step();
    return applyFilter(this, name, input, args);
  }

  test(name: string, input: Value, args: Arguments): boolean {
    this.budget.step();
    return applyTest(this, name, input, args);
  }

  attribute(object: Value, name: string): Value {
    return attribute(this, object, name);
  }

  item(object: Value, index: Value): Value {
    return item(this, object, index);
  }

  private block(body: Block, scope: Scope): End {
    for (const statement of body) {
      const end = this.statement(statement, scope);
      if (end) return end;
    }
    return undefined;
  }

  private statement(node: Statement, scope: Scope): End {
    this.budget.step();
    this.budget.enter();
    const end = this.execute(node, scope);
    this.budget.leave();
    return end;
  }

  private execute(node: Statement, scope: Scope): End {
    switch (node.kind) {
      case 'text':
        return this.write(text(node.text));
      case 'print':
        return this.write(toText(this.evaluate(node.value, scope), this.budget));
      case 'if':
        return this.block(this.chosen(node, scope), scope);
      case 'for':
        return this.loop(node, this.evaluate(node.iterable, scope), scope, 0);
      case 'set':
        return this.assign(node.target, this.evaluate(node.value, scope), scope);
      case 'capture':
        return this.capturedSet(node, scope);
      case 'macro':
        return scope.set(node.macro.name, this.macro(node.macro, scope)) as undefined;
      case 'call':
        return this.callBlock(node, scope);
      case 'filter block': {
        const inside = this.capture(() => this.block(node.body, new Scope(scope)));
        return this.write(toText(applyFilters(this, scope, node.filter, inside), this.budget));
      }
      case 'scope':
        return this.scoped(node, scope);
      default:
        return node.kind;
    }
  }

  private evaluate(node: Expression, scope: Scope): Value {
    return evaluate(this, scope, node);
  }

  private write(part: Text): undefined {
    if (this.capturing > 0) this.budget.characters(part.length);
    else this.budget.output(part.length);
    this.budget.step(part.typed.length / 8);
    this.out.add(part);
  }

  /** The output of `run`, as a string. */
  private capture(run: () => void): Text {
    const outer = this.out;
    this.out = new TextBuilder();
    this.capturing++;
    run();
    this.capturing--;
    const captured = this.out.text();
    this.out = outer;
    return captured;
  }

  private chosen(node: Extract<Statement, { kind: 'if' }>, scope: Scope): Block {
    const branch = node.branches.find(({ test }) => truth(this.evaluate(test, scope)));
    return branch?.body ?? node.otherwise;
  }

  private loop(node: ForNode, iterable: Value, scope: Scope, depth: number): End {
    const items = this.filtered(node, elements(iterable, this.budget), scope);
    const again = (_: Context, values: Value): Value =>
      this.budget.within(() => this.capture(() => this.loop(node, values, scope, depth + 1)));
    const loop = new Loop(items, depth, node.recursive ? again : undefined);
    const value = loop.value();
    for (const [index, each] of items.entries()) {
      loop.index = index;
      this.budget.step();
      const inside = new Scope(scope);
      inside.set('loop', value);
      this.assign(node.target, each, inside);
      if (this.block(node.body, inside) === 'break') break;
    }
    return items.length === 0 ? this.block(node.otherwise, new Scope(scope)) : undefined;
  }

  private filtered({ filter, target }: ForNode, items: readonly Value[], scope: Scope): readonly Value[] {
    if (!filter) return items;
    this.budget.elements(items.length);
    return items.filter((each) => {
      const inside = new Scope(scope);
      this.assign(target, each, inside);
      return truth(this.evaluate(filter, inside));
    });
  }

  private assign(target: Target, value: Value, scope: Scope): undefined {
    if (target.kind === 'name') scope.set(target.name, value);
    else if (target.kind === 'targets') this.unpack(target.items, value, scope);
    else {
      const object = scope.get(target.object);
      if (!(object instanceof Namespace))
        throw new TemplateFailure(`${target.object} is no namespace: its fields cannot be set`);
      object.fields.set(target.name, value);
    }
  }

  private unpack(targets: readonly Target[], value: Value, scope: Scope): void {
    const items = elements(value, this.budget);
    if (items.length !== targets.length)
      throw new TemplateFailure(`${items.length} values cannot be unpacked into ${targets.length} names`);
    for (const [i, target] of targets.entries()) this.assign(target, items[i]!, scope);
  }

  private capturedSet(node: Extract<Statement, { kind: 'capture' }>, scope: Scope): undefined {
    const captured = this.capture(() => this.block(node.body, new Scope(scope)));
    const value = node.filter ? applyFilters(this, scope, node.filter, captured) : captured;
    return this.assign(node.target, value, scope);
  }

  private scoped(node: Extract<Statement, { kind: 'scope' }>, scope: Scope): End {
    const inside = new Scope(scope);
    for (const [target, value] of node.values) this.assign(target, this.evaluate(value, scope), inside);
    return this.block(node.body, inside);
  }

  private callBlock(node: Extract<Statement, { kind: 'call' }>, scope: Scope): undefined {
    const args = evaluateArguments(this, scope, node.args);
    const keyword = new Map(args.keyword).set('caller', this.macro(node.caller, scope));
    const callee = this.evaluate(node.callee, scope);
    return this.write(toText(this.call(callee, { positional: args.positional, keyword }), this.budget));
  }

  private macro(macro: MacroBody, scope: Scope): Callable {
    const call = (_: Context, args: Arguments): Value => {
      const inside = new Scope(scope);
      this.bind(macro, args, inside);
      return this.budget.within(() => this.capture(() => this.block(macro.body, inside)));
    };
    return new Callable(macro.name, call, (name) => (name === 'name' ? text(macro.name) : undefined));
  }

  private bind({ parameters, takes }: MacroBody, { positional, keyword }: Arguments, scope: Scope): void {
    const rest = new Map(keyword);
    for (const [i, { name, default: fallback }] of parameters.entries()) {
      const value = i < positional.length ? positional[i] : rest.get(name);
      rest.delete(name);
      const missing = () =>
        fallback ? this.evaluate(fallback, scope) : new Undefined(`parameter '${name}' was not provided`);
      scope.set(name, found(value, missing));
    }
    if (takes.caller)
      scope.set(
        'caller',
        found(rest.get('caller'), () => new Undefined('there is no caller')),
      );
    if (takes.caller) rest.delete('caller');
    const more = positional.slice(parameters.length);
    if (takes.varargs) scope.set('varargs', new Tuple(more));
    else if (more.length > 0)
      throw new TemplateFailure(`it takes at most ${parameters.length} arguments; got ${positional.length}`);
    if (takes.kwargs)
      scope.set('kwargs', new Dict([...rest].map(([name, value]) => [text(name), value] as const)));
    else if (rest.size > 0) throw new TemplateFailure(`it has no argument "${[...rest.keys()][0]}"`);
  }
}
