import { button, element } from './elements.js';

/** Copies a text; false where the browser refuses. Pages of plain http have no `navigator.clipboard`. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** The older way: a selected text of the page. */
function copySelected(text) {
  const focused = document.activeElement;
  const field = element('textarea', { value: text, className: 'hidden', readOnly: true });
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  focused?.focus({ preventScroll: true });
  return isCopied;
}

const saidMs = 1500;

/** A button that copies what `text` gives. */
export function copyButton(text, properties = {}) {
  const made = button(
    'Copy',
    async () => {
      made.textContent = (await copy(text())) ? 'Copied' : 'Not allowed';
      setTimeout(() => {
        made.textContent = 'Copy';
      }, saidMs);
    },
    properties,
  );
  return made;
}
