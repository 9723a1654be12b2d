// On narrow screens the lists beside the chat open over it.
const toggles = [...document.querySelectorAll('.toggle')];

const panelOf = (toggle) => document.getElementById(toggle.getAttribute('aria-controls'));

function set(toggle, isOpen) {
  toggle.setAttribute('aria-expanded', String(isOpen));
  panelOf(toggle).classList.toggle('shown', isOpen);
}

const isOpen = (toggle) => toggle.getAttribute('aria-expanded') === 'true';

for (const toggle of toggles)
  toggle.addEventListener('click', () => {
    for (const each of toggles) set(each, each === toggle && !isOpen(toggle));
  });

document.addEventListener('keydown', ({ key }) => {
  const open = toggles.find(isOpen);
  if (key !== 'Escape' || !open) return;
  set(open, false);
  open.focus();
});

document.addEventListener('click', ({ target }) => {
  const isOutside = (toggle) => target.isConnected && target !== toggle && !panelOf(toggle).contains(target);
  const isChoice = target.closest('.open, #clear'); // a conversation was chosen
  for (const toggle of toggles.filter(isOpen)) if (isOutside(toggle) || isChoice) set(toggle, false);
});
