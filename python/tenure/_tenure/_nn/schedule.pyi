from tenure._schedules import *
