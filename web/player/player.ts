import { SluicePlayer } from './element.ts'
import { speak } from './words.ts'

/** That of the page; of one that names none that of the browser. */
const language = document.documentElement.lang || navigator.language

// The server may be another version, whose file is gone: then it is English.
if (/^de\b/i.test(language)) await import('./wordsDe.ts').then(({ german }) => speak(german)).catch(() => undefined)

// A page may load the script twice.
if (customElements.get('sluice-player') === undefined) customElements.define('sluice-player', SluicePlayer)
