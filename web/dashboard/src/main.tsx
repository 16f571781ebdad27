// First, so that the order of the layers is that of components.css. Style sheets of what is in the first script are here, too:
// Vite would load one that another file imports before these.
import './styles/tokens.css'
import './styles/components.css'
import './styles/additions.css'
import './styles/home.css'
import './styles/firstRun.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { listenForPalette } from './palette.tsx'
import { openSession } from './session.ts'

const root = document.getElementById('app')
if (root) render(<App />, root)
listenForPalette()
void openSession()
