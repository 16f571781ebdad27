import { render } from 'preact'
import { App } from './app.tsx'
import { listenForPalette } from './palette.tsx'
import { openSession } from './session.ts'
import './styles/tokens.css'
import './styles/components.css'
import './styles/additions.css'

const root = document.getElementById('app')
if (root) render(<App />, root)
listenForPalette()
void openSession()
