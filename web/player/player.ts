import { SluicePlayer } from './element.ts'

// A page may load the script twice.
if (customElements.get('sluice-player') === undefined) customElements.define('sluice-player', SluicePlayer)
