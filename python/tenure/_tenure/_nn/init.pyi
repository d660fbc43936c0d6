from tenure._initializers import *
