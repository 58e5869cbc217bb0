local m = require "nothing"
return function(sample) return 1 end
