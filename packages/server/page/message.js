import { canContinue, cutOf } from './conversation.js';
import { copyButton } from './copy.js';
import { button, element } from './elements.js';
import { codeBlock, Markdown } from './markdown.js';
import { Pace } from './pace.js';

const names = { user: 'You', assistant: 'Answer', tool: 'Tool result' };

/** A message of the conversation as an item of the list. */
export class MessageView {
  #pace = new Pace(() => this.#draw());
  #markdown;

  /** @param actions buttons: `{ edit, goOn, regenerate, remove }`, functions of this view; and `onDraw` */
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.body = element('div', { className: 'body', dir: 'auto' });
    this.item = element(
      'li',
      { className: message.role },
      element('span', { className: 'who', textContent: this.#who }),
      this.body,
    );
    if (message.role !== 'assistant') this.body.textContent = message.content;
  }

  get #who() {
    const { role, model, name } = this.message;
    return (role === 'assistant' && model) || (role === 'tool' && name && `Result of ${name}`) || names[role];
  }

  /** Shows what has come since; soon. */
  update() {
    this.#pace.ask();
  }

  /** The answer comes, or goes on. */
  begin() {
    for (const each of this.item.querySelectorAll(':scope > :is(.tools, .cut)')) each.remove();
  }

  /** Shows the message as it has ended. */
  end() {
    if (this.message.role === 'assistant') this.#pace.now();
    this.#markdown?.end();
    this.#addTools();
    this.actions.onDraw();
  }

  #draw() {
    const { content, thinking, tool_calls: calls = [], format } = this.message;
    if (thinking) this.#drawThinking(thinking);
    for (const [index, call] of calls.entries()) if (call) this.#drawCall(index, call.function);
    if (format === 'json') this.#drawJson(content);
    else {
      this.#markdown ??= new Markdown(this.body);
      this.#markdown.show(content);
    }
    this.actions.onDraw();
  }

  #drawThinking(text) {
    const made = () =>
      element(
        'details',
        { className: 'thinking', open: !this.message.content },
        element('summary', { textContent: 'Thoughts' }),
        element('div', {}),
      );
    const part = this.#part('.thinking', made);
    part.lastChild.textContent = text;
    if (this.message.content && !this.isFolded) part.open = false;
    this.isFolded ||= Boolean(this.message.content); // once: the user may open it again
  }

  #drawCall(index, { name, arguments: text }) {
    const part = this.#part(`.call-${index}`, () => element('div', { className: `call call-${index}` }));
    part.textContent = `${name}(${text})`;
  }

  #drawJson(text) {
    const code = this.body.querySelector('code');
    if (code) code.textContent = text;
    else if (text) this.body.append(codeBlock(text, 'json'));
  }

  #part(selector, make) {
    const known = this.item.querySelector(selector);
    if (known) return known;
    const made = make();
    this.body.before(made);
    return made;
  }

  /** What may be done with the message, and why an answer is not whole. */
  #addTools() {
    this.begin();
    const { role, content } = this.message;
    const { edit, goOn, regenerate, remove } = this.actions;
    const cut = cutOf(this.message);
    if (cut) this.item.append(element('p', { className: 'cut', role: 'note', textContent: cut }));
    this.item.append(
      element(
        'div',
        { className: 'tools' },
        ...(content ? [copyButton(() => this.message.content, { ariaLabel: `Copy: ${names[role]}` })] : []),
        ...(role === 'user' ? [button('Edit', () => edit(this))] : []),
        ...(canContinue(this.message) ? [button('Continue', () => goOn(this))] : []),
        ...(role === 'assistant' ? [button('Regenerate', () => regenerate(this))] : []),
        button('Delete', () => remove(this), { title: 'Delete this message and those after it' }),
      ),
    );
  }

  /** A form in place of the text; `send` gets the new one. */
  edit(later, send) {
    if (this.item.querySelector('form')) return;
    const field = element('textarea', {
      value: this.message.content,
      rows: 3,
      ariaLabel: 'Message',
      required: true,
    });
    const warning =
      later > 0 ? `The ${later === 1 ? 'message' : `${later} messages`} after it will be replaced.` : '';
    const form = element(
      'form',
      { className: 'edit' },
      field,
      element(
        'div',
        { className: 'row' },
        element('small', { textContent: warning }),
        button('Cancel', () => this.#endEdit(form)),
        element('button', { type: 'submit', textContent: 'Send' }),
      ),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (send(field.value)) form.remove();
    });
    form.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && !event.isComposing) this.#endEdit(form);
      else if (sends(event)) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    this.body.hidden = true;
    this.body.after(form);
    field.focus();
  }

  #endEdit(form) {
    form.remove();
    this.body.hidden = false;
    this.item.querySelector('.tools button:nth-child(2)')?.focus();
  }

  /** A form for the results of calls; `send` takes them as messages, and says whether it did. */
  askResults(calls, send) {
    this.item.querySelector('.results')?.remove();
    const fields = calls.map(({ function: { name } }) => element('textarea', { rows: 2, ariaLabel: name }));
    const labels = fields.map((field, i) =>
      element('label', {}, `Result of ${calls[i].function.name}`, field),
    );
    const form = element(
      'form',
      { className: 'results' },
      ...labels,
      element('button', { type: 'submit', textContent: 'Send results' }),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const results = calls.map(({ id, function: { name } }, i) => ({
        role: 'tool',
        tool_call_id: id,
        name,
        content: fields[i].value,
      }));
      if (send(results)) form.remove();
    });
    this.item.append(form);
    return fields[0];
  }
}

/** Enter sends; with Shift, or while a word is composed, it does not. */
export const sends = ({ key, shiftKey, isComposing }) => key === 'Enter' && !shiftKey && !isComposing;
