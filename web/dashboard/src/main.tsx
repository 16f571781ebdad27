// First, because base.css states the order of the layers. Every other style sheet is imported by the part that it styles.
import './styles/tokens.css'
import './styles/base.css'
import './styles/layout.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { keepFocus } from './focus.ts'
import { listenForPalette } from './palette.tsx'
import { listenForUndo } from './parts/toast.tsx'
import { keepScroll } from './scroll.ts'
import { beginSession } from './session.ts'

const root = document.getElementById('app')
if (root) render(<App />, root)
listenForPalette()
listenForUndo()
keepFocus()
keepScroll()
void beginSession()
