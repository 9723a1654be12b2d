import { element } from './elements.js';

const list = document.getElementById('messages');

/** Shows a message of the conversation. */
export function show(role, text = '') {
  const body = element('span', { textContent: text });
  const item = element(
    'li',
    { className: role },
    element('span', { className: 'who', textContent: role }),
    body,
  );
  list.append(item);
  item.scrollIntoView({ block: 'end' });
  return { item, body };
}

/** Shows an answer while it comes. */
export class Answer {
  content = '';
  calls = [];
  isCalling = false;

  constructor() {
    this.shown = show('assistant');
  }

  add({ delta: { content, reasoning_content: thinking, tool_calls: calls = [] }, finish_reason: reason }) {
    this.isCalling = reason === 'tool_calls'; // all calls are whole
    if (thinking) this.part('thinking').textContent += thinking;
    for (const call of calls) this.addCall(call);
    if (content) this.shown.body.textContent += content;
    this.content += content ?? '';
  }

  addCall({ index, id, function: { name, arguments: text = '' } }) {
    this.calls[index] ??= { id, type: 'function', function: { name, arguments: '' } };
    const call = this.calls[index].function;
    call.arguments += text;
    this.part(`call call-${index}`).textContent = `${call.name}(${call.arguments})`;
  }

  part(className) {
    const known = this.shown.item.querySelector(`.${className.split(' ').at(-1)}`);
    if (known) return known;
    const made = element('div', { className });
    this.shown.body.before(made);
    return made;
  }

  /** A form for the results of the calls; `send` takes them as messages. */
  askResults(send) {
    const fields = this.calls.map(({ function: { name } }) =>
      element('textarea', { rows: 2, ariaLabel: name }),
    );
    const labels = fields.map((field, i) =>
      element('label', {}, `Result of ${this.calls[i].function.name}`, field),
    );
    const form = element(
      'form',
      { className: 'results' },
      ...labels,
      element('button', { type: 'submit', textContent: 'Send results' }),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      form.remove();
      send(this.calls.map(({ id }, i) => ({ role: 'tool', tool_call_id: id, content: fields[i].value })));
    });
    this.shown.item.append(form);
    form.scrollIntoView({ block: 'end' });
    fields[0].focus();
  }

  get message() {
    return {
      role: 'assistant',
      content: this.content,
      ...(this.calls.length > 0 && { tool_calls: this.calls }),
    };
  }
}
