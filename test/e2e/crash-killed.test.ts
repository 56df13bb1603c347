import { crashMatrix } from '../support/crash-matrix.js';

crashMatrix('killed');
