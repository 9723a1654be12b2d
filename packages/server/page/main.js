import './tabs.js';
import './panels.js';
import './chat.js';
import './embeddings.js';
import './speech.js';
import './server.js';
import { showModels } from './models.js';

document.addEventListener('quern-key', showModels);
void showModels();
